// A fit while it runs, and its result once it is there. A reload in the middle tells the same story again.

import { events, get, isActive, persist, request } from "../api.js";
import { histogram } from "../charts/histogram.js";
import { button, element, replace } from "../element.js";
import { titleOf } from "../methods.js";
import { awayNotice, loading } from "../states.js";
import { count, duration, short } from "../words.js";
import { showModel } from "./model.js";

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
  const board = await Board.of(fit);
  replace(place, board.node);
  for await (const event of events(fit.id, { signal, onOutage })) {
    board.take(event);
  }
}

// What can be seen of a running fit.
class Board {
  static async of(fit) {
    return new Board(fit, await titleOf(fit.method));
  }

  constructor(fit, methodTitle) {
    this.nStarts = fit.progress.n_starts;
    this.separations = new Map(); // of each start, the last one known: starts are polished later
    this.phase = element(
      "p",
      { class: "lead", role: "status" },
      fit.status_detail ? "Waiting: no worker is alive. The fit begins as soon as one is." : "Waiting for a worker",
    );
    this.bar = element("progress", { "aria-label": "Starts done", max: String(this.nStarts ?? 1), value: "0" });
    if (!this.nStarts) this.bar.removeAttribute("value");
    this.figures = element("dl", { class: "figures" });
    this.chart = element("figure", {}, histogram([], this.nStarts));
    this.trouble = element("p", { class: "hint", role: "status" });
    const cancel = (query) => async (event) => {
      for (const each of this.actions.children) each.disabled = true;
      event.target.textContent = query ? "Stopping …" : "Canceling …";
      await request(`v1/fits/${fit.id}/cancel${query}`, { method: "POST" }).catch(() => {
        for (const each of this.actions.children) each.disabled = false;
      });
    };
    this.keep = button("Stop now, keep the best", cancel("?keep_best=true"));
    this.keep.disabled = true;
    this.actions = element("p", { class: "actions" }, this.nStarts && this.keep, button("Cancel", cancel("")));
    this.node = element(
      "div",
      { class: "board" },
      element("h1", {}, fit.name ?? fit.id),
      this.phase,
      this.bar,
      this.nStarts && [
        this.figures,
        this.chart,
        element(
          "p",
          { class: "hint" },
          "The search begins at different places. Where many starts end at the same separation, the best one is likely the best there is.",
        ),
      ],
      this.trouble,
      this.actions,
    );
    this.methodTitle = methodTitle;
    this.update();
  }

  take({ type, at, data }) {
    if (type === "started") {
      this.startedAt = new Date(at);
      this.phase.textContent = `${this.methodTitle} is looking for the view`;
    }
    if (type === "recovered")
      this.trouble.textContent = "A worker was lost. Its work has been taken over; nothing is lost.";
    if (type !== "start_done") return;
    this.separations.set(data.start, data.divergence);
    this.update(new Date(at));
  }

  update(now) {
    if (!this.nStarts) return;
    const values = [...this.separations.values()];
    const left = this.nStarts - values.length;
    this.keep.disabled = values.length === 0;
    this.bar.value = values.length;
    if (left === 0) {
      this.phase.textContent = "All starts are done. The best are polished, and judged on held-out rows";
      this.bar.removeAttribute("value");
    }
    const seconds = values.length && this.startedAt ? (((now - this.startedAt) / 1000) * left) / values.length : null;
    const figure = (title, value) => element("div", {}, element("dt", {}, title), element("dd", {}, value));
    replace(
      this.figures,
      figure("Starts done", `${count(values.length)} of ${count(this.nStarts)}`),
      figure("Best separation so far", values.length ? short(Math.max(...values)) : "–"),
      figure("Search ends in", seconds === null || left === 0 ? "–" : `about ${duration(seconds)}`),
    );
    replace(this.chart, histogram(values, this.nStarts));
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
      isFailed ? (fit.error?.message ?? "The service does not say why.") : "It was stopped before there was a result.",
    ),
    !isFailed &&
      done > 0 &&
      element(
        "p",
        {},
        `${count(done)} of ${count(fit.progress.n_starts)} starts were done; trying again goes on from there.`,
      ),
    element("p", { class: "actions" }, retry, element("a", { class: "button", href: "#/" }, "Begin anew")),
  );
}
