// A fit while it runs, then its result. It can be reloaded at any time.

import { events, get, isActive, pause, persist, request } from "../api.js";
import { histogram } from "../charts/histogram.js";
import { button, element, replace } from "../element.js";
import { MEANINGS } from "../meanings.js";
import { titleOf } from "../methods.js";
import { Preview } from "../picture/preview.js";
import { awayNotice, loading } from "../states.js";
import { count, duration, plural, short } from "../words.js";
import { showModel } from "./model.js";

const PAUSE = 900; // milliseconds between two requests for the progress
const AGREEMENT =
  "The search starts from several projections. Starts that end at the same separation have probably found the same picture.";

export async function fitView(context, fitId) {
  const { place, signal, notify, setTitle } = context;
  const onOutage = awayNotice(notify);
  const look = () => persist(() => get(`v1/fits/${fitId}`, { signal }), { signal, onOutage });
  replace(place, loading("Getting the fit"));
  let fit = await look();
  setTitle(fit.name ?? fit.id);
  if (isActive(fit)) {
    await watch(context, fit, onOutage);
    fit = await look();
  }
  if (fit.status === "succeeded") await showModel(context, fit.model_id, fit);
  else replace(place, ending(context, fit));
}

async function watch({ place, signal }, fit, onOutage) {
  const board = await Board.of(fit, signal);
  replace(place, board.node);
  for await (const event of events(fit.id, { signal, onOutage })) {
    board.take(event);
  }
}

// The view of a running fit.
class Board {
  static async of(fit, signal) {
    return new Board(fit, await titleOf(fit.method), signal);
  }

  constructor(fit, methodTitle, signal) {
    Object.assign(this, { fit, methodTitle, signal });
    this.nStarts = fit.progress.n_starts;
    this.separations = new Map(); // the last value of each start: starts are refined later
    const waiting = fit.status_detail ? "Waiting: no worker is running. The fit begins as soon as one does." : "Waiting for a worker";
    this.phase = element("p", { class: "lead", role: "status" }, waiting);
    this.bar = element("progress", { "aria-label": "Work done", max: "1" });
    this.figures = element("dl", { class: "figures" });
    this.chart = element("figure", {}, histogram([], this.nStarts));
    this.preview = new Preview();
    this.preview.node.hidden = true;
    this.trouble = element("p", { class: "hint", role: "status" });
    this.price = element("p", { class: "hint" });
    const cancel = (query) => async (event) => {
      for (const each of this.actions.querySelectorAll("button")) each.disabled = true;
      event.target.textContent = query ? "Stopping …" : "Canceling …";
      await request(`v1/fits/${fit.id}/cancel${query}`, { method: "POST" }).catch(() => {
        for (const each of this.actions.querySelectorAll("button")) each.disabled = false;
      });
    };
    this.keep = button("Stop now, keep the best", cancel("?keep_best=true"));
    this.keep.disabled = true;
    this.look = element("a", { class: "button", hidden: true }, "Look at it now");
    this.actions = element("p", { class: "actions" }, this.look, this.nStarts && this.keep, button("Cancel", cancel("")));
    this.node = element(
      "div",
      { class: "board" },
      element("h1", {}, fit.name ?? fit.id),
      this.phase,
      this.bar,
      this.figures,
      element("div", { class: "search" }, this.preview.node, this.nStarts && element("div", {}, this.chart, element("p", { class: "hint" }, AGREEMENT))),
      this.trouble,
      this.actions,
      this.price,
    );
    this.asking = null;
    this.update();
    this.ask();
  }

  take({ type, data }) {
    if (type === "started") this.phase.textContent = `${this.methodTitle} is searching for the projection`;
    if (type === "recovered")
      this.trouble.textContent = "A worker was lost. Another one has taken over its work; nothing is lost.";
    if (type === "start_done") this.separations.set(data.start, data.divergence);
    if (type === "model") this.found(data.model_id);
    this.update();
    this.ask();
  }

  // The model is available; the evidence for it is still being gathered.
  found(modelId) {
    this.phase.textContent = "The picture is found. It is now judged on rows that it has not seen";
    this.look.href = `#/models/${modelId}`;
    this.look.hidden = false;
    this.isFound = true;
  }

  // Requests the progress, validation included, and the best picture so far; rate-limited.
  ask() {
    this.asking ??= pause(this.progress ? PAUSE : 0, this.signal)
      .then(async () => {
        const path = `v1/fits/${this.fit.id}`;
        const [fit, preview] = await Promise.all([
          get(path, { signal: this.signal }),
          this.isFound ? null : request(`${path}/preview`, { signal: this.signal }),
        ]);
        this.progress = fit.progress;
        if (preview?.status === 200) {
          this.preview.node.hidden = false;
          this.preview.show(await preview.json());
        }
        this.update();
      })
      .catch(() => {}) // outages are reported by the event stream
      .finally(() => {
        this.asking = null;
        if (!this.signal.aborted && this.node.isConnected) this.ask();
      });
  }

  update() {
    const values = [...this.separations.values()];
    const { share_done: share, eta_seconds: seconds } = this.progress ?? {};
    this.keep.disabled = values.length === 0 && !this.isFound;
    if (share) this.bar.value = share;
    const figure = (title, value, meaning) => element("div", { title: meaning }, element("dt", {}, title), element("dd", {}, value));
    replace(
      this.figures,
      this.nStarts && figure("Starts done", `${count(values.length)} of ${count(this.nStarts)}`),
      this.nStarts && figure("Best separation so far", values.length ? short(Math.max(...values)) : "–", MEANINGS.separation),
      figure("Time remaining", typeof seconds === "number" ? `about ${duration(seconds)}` : "–"),
    );
    if (this.nStarts) replace(this.chart, histogram(values, this.nStarts));
    const left = this.nStarts - values.length;
    replace(
      this.price,
      this.isFound
        ? "Stopping now keeps the picture. The evidence that is still missing will not be computed."
        : values.length > 0 &&
            `Stopping now keeps the best of ${plural(values.length, "start")}${left > 0 ? `, leaves out ${count(left)} more` : ""}, and shows a picture that has not been judged on unseen rows.`,
    );
  }
}

function ending({ reload }, fit) {
  const retry = button(
    "Try again",
    async () => {
      retry.disabled = true;
      await request(`v1/fits/${fit.id}/retry`, { method: "POST" });
      reload();
    },
    "primary",
  );
  const isFailed = fit.status === "failed";
  const done = fit.progress.starts_done;
  return element(
    "section",
    { class: "failure" },
    element(
      "h1",
      {},
      isFailed ? `${fit.name ?? "The fit"} could not be fitted` : `${fit.name ?? "The fit"} was canceled`,
    ),
    element(
      "p",
      { class: "lead" },
      isFailed ? (fit.error?.message ?? "The service gives no reason.") : "It was canceled before it had a result.",
    ),
    !isFailed &&
      done > 0 &&
      element(
        "p",
        {},
        `${count(done)} of ${count(fit.progress.n_starts)} starts were done; trying again continues from there.`,
      ),
    element("p", { class: "actions" }, retry, element("a", { class: "button", href: "#/" }, "Start again")),
  );
}
