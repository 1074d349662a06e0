// The same rows by several methods, side by side, each with its score on held-out rows.

import { ended, get, post } from "../api.js";
import { thumbnail } from "../charts/thumbnail.js";
import { button, element, replace } from "../element.js";
import { listMethods } from "../methods.js";
import { HttpSource } from "../http_source.js";
import { keptSelection } from "../kept_selections.js";
import { MEANINGS } from "../meanings.js";
import { projectedRows } from "../picture/points_of.js";
import { awayNotice, explain, loading } from "../states.js";
import { plural, score } from "../words.js";

export async function compareView({ place, signal, notify, setTitle }, modelId) {
  replace(place, loading("Getting the model"));
  const model = await get(`v1/models/${modelId}`, { signal });
  const name = model.name ?? model.id;
  setTitle(`${name}, compared`);
  const methods = await listMethods();
  const selected = keptSelection(model.dataset_id);
  const features = selected.size > 0 && (await new HttpSource(model, signal).features());
  // All rows in the projection of a model, and the selected ones. All methods have the same features.
  const mark = (other) => features && { ...projectedRows(features, other), selected };
  const others = methods.filter((method) => method.name !== model.method);
  const grid = element(
    "ul",
    { class: "tiles" },
    tile(
      methods.find((method) => method.name === model.method),
      (body) => picture(body, modelId, mark, signal),
    ),
  );
  const fitBy = (method) => async (body) => {
    const fit = await post("v1/fits", request(method, model, name), { signal });
    const done = await ended(fit.id, { signal, onOutage: awayNotice(notify) });
    if (done.status !== "succeeded") throw new Error(done.error?.message ?? `It was ${done.status}.`);
    await picture(body, done.model_id, mark, signal);
  };
  const add = (chosen) => grid.append(...chosen.map((method) => tile(method, fitBy(method))));
  const more = button(`Show ${others.filter(({ common }) => !common).length} more methods`, () => {
    more.remove();
    add(others.filter(({ common }) => !common));
  });
  replace(
    place,
    element("h1", {}, `${name}, compared`),
    element(
      "p",
      { class: "lead" },
      "The same rows and the same classifier on top, by different methods. Compare the held-out scores: a clearer picture that scores no better is only better looking.",
    ),
    features && element("p", { class: "hint" }, `The ${plural(selected.size, "selected row")} stand out; the others are faint.`),
    ceiling(model.card),
    grid,
    element(
      "p",
      { class: "actions" },
      more,
      element("a", { class: "button", href: `#/models/${modelId}` }, "Back to the model"),
    ),
  );
  add(others.filter(({ common }) => common));
}

// The ceiling: the score of a classifier on all columns.
const ceiling = ({ ceiling: found }) =>
  found &&
  element("p", { title: MEANINGS.ceiling }, `The ceiling: ${found.method} scores ${score(found.balanced_accuracy)} on held-out rows, without a picture.`);

// A fit by another method, with the same number of components if the method has that parameter.
function request(method, model, name) {
  const components = model.projection[0].length;
  const mostComponents = method.name === "lda" ? Math.min(components, model.classes.length - 1) : components;
  const takes = method.parameters.some(({ name: parameter }) => parameter === "n_components");
  return {
    dataset_id: model.dataset_id,
    method: method.name,
    params: takes ? { n_components: mostComponents } : {},
    name,
  };
}

function tile(method, work) {
  const body = element("div", { class: "tile-body" }, element("div", { class: "thumbnail waiting" }, "fitting …"));
  work(body).catch((error) => {
    if (error.name === "AbortError") return;
    const [title, detail] = error.status === undefined ? ["Not possible here", error.message] : explain(error);
    replace(body, element("div", { class: "thumbnail waiting" }, element("strong", {}, title), ` ${detail}`));
  });
  return element("li", { class: "tile" }, element("h2", {}, method.title), body);
}

async function picture(body, modelId, mark, signal) {
  const [model, plot] = await Promise.all([
    get(`v1/models/${modelId}`, { signal }),
    get(`v1/models/${modelId}/plot`, { signal }),
  ]);
  const { validation, in_sample: inSample } = model.card;
  const figure = (title, value, meaning) => element("div", { title: meaning }, element("dt", {}, title), element("dd", {}, value));
  replace(
    body,
    element("a", { href: `#/models/${modelId}` }, thumbnail(plot, `Picture by ${model.method}`, mark(model))),
    element(
      "dl",
      {},
      figure(
        "held out",
        validation
          ? [
              score(validation.balanced_accuracy),
              element("small", {}, `${score(validation.interval[0])} to ${score(validation.interval[1])}`),
            ]
          : "–",
        MEANINGS.heldOut,
      ),
      figure("in sample", inSample ? score(inSample.leave_one_out_balanced_accuracy) : "–", MEANINGS.inSample),
    ),
  );
}
