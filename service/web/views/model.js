// A model: its picture, its score on held-out rows, the features that make up the picture, and downloads.

import { ended, get, isActive } from "../api.js";
import { histogram } from "../charts/histogram.js";
import { keepFile } from "../chosen_file.js";
import { save } from "../download.js";
import { button, element, replace } from "../element.js";
import { MEANINGS } from "../meanings.js";
import { HttpSource } from "../http_source.js";
import { asChangedFile } from "../changed_file.js";
import { keepSelection } from "../kept_selections.js";
import { Picture } from "../picture/picture.js";
import { SelectionPanel } from "../picture/selection_panel.js";
import { chosenOf, titleOf } from "../methods.js";
import { loading } from "../states.js";
import { plural, score, short } from "../words.js";
import { change } from "./change.js";
import { heldOut } from "./held_out.js";
import { makeUp } from "./make_up.js";
import { newRows } from "./new_rows.js";
import { takeAway } from "./take_away.js";

const MOST_DRAWN = 200_000;

export async function modelView(context, modelId) {
  replace(context.place, loading("Getting the model"));
  const model = await get(`v1/models/${modelId}`, { signal: context.signal });
  const fit = model.fit_id && (await get(`v1/fits/${model.fit_id}`, { signal: context.signal }).catch(() => null));
  await showModel(context, modelId, fit);
}

export async function showModel({ place, signal, setTitle, leave, reload, said, remember }, modelId, fit) {
  const [model, schema, plot] = await Promise.all([
    get(`v1/models/${modelId}`, { signal }),
    get(`v1/models/${modelId}/schema`, { signal }),
    get(`v1/models/${modelId}/plot?max_points=${MOST_DRAWN}`, { signal }),
  ]);
  const picture = new Picture(model, plot, new HttpSource(model, signal), said, remember);
  signal.addEventListener("abort", () => picture.dispose());
  if (fit && isActive(fit)) ended(fit.id, { signal }).then(reload, () => {}); // its evidence is added later
  const name = model.name ?? fit?.name ?? model.id;
  setTitle(name);
  const wish = await chosenOf(model.method, fit ?? { params: model.card.parameters ?? {} });
  const again = async (changes) => {
    await picture.ready;
    await keepFile(asChangedFile(name, picture.table, { method: model.method, ...wish }, changes));
    leave("/new");
  };
  picture.selection.onChange(({ rows }) => keepSelection(model.dataset_id, rows));
  replace(
    place,
    await heading(model, fit, name, picture, again),
    element(
      "div",
      { class: "pair" },
      element("div", {}, inSample(model, picture), checks(model)),
      element("div", {}, heldOut(model, picture), makeUp(model, picture)),
    ),
    selectionPanel(picture, again),
    newRows(model, schema, picture, signal),
    starts(model),
    takeAway(model, schema, wish, picture, name, signal),
  );
}

async function heading(model, fit, name, picture, again) {
  const { n_rows: rows, n_features: features } = model.card.data ?? {};
  const facts = [
    await titleOf(model.method),
    rows && plural(rows, "row"),
    features && plural(nColumns(model.card), "column"),
    plural(model.classes.length, "class", "classes"),
  ];
  const changes = change(model, (classes) => again({ classes }));
  const open = button("Change and fit again", () => (changes.hidden = !changes.hidden), "small");
  open.hidden = true; // until the rows are loaded
  picture.ready.then(() => (open.hidden = !picture.table));
  return element(
    "div",
    { class: "heading" },
    element("h1", {}, name),
    open,
    element("p", { class: "lead" }, facts.filter(Boolean).join(" · "), fit?.reused && " · fitted before"),
    changes,
  );
}

const nColumns = ({ columns, n_more_columns: nMore, data }) => (columns ? columns.length + nMore : data.n_features);

// Below the picture: the selected rows, if there are any.
function selectionPanel(picture, again) {
  const keep = (text, name) => save(new Blob([text], { type: "text/csv" }), name);
  const panel = new SelectionPanel(picture.selection, {
    onPoint: (row) => picture.pointAt(row),
    onSave: keep,
    onLeaveOut: (leftOut) => again({ leftOut }),
  });
  picture.ready.then(() => picture.table && panel.setTable(picture.table, picture.model));
  return panel.node;
}

function inSample(model, picture) {
  const accuracy = model.card.in_sample?.leave_one_out_balanced_accuracy;
  const choose = element(
    "select",
    {
      "aria-label": "Components",
      onchange: (event) => picture.choose(event.target.value === "space" ? "space" : Number(event.target.value)),
    },
    picture.choices.map(([value, title]) => element("option", { value: String(value), selected: value === picture.choice }, title)),
  );
  return element(
    "section",
    { class: "panel", "aria-labelledby": "in-sample-title" },
    element(
      "div",
      { class: "panel-head" },
      element("h2", { id: "in-sample-title" }, "The rows it was fitted to"),
      element("p", { class: "big", title: MEANINGS.inSample }, accuracy === undefined ? "–" : score(accuracy)),
      element("p", { class: "hint" }, "balanced accuracy, each row judged by the others"),
      picture.choices.length > 1 && choose,
    ),
    picture.node,
  );
}

function checks(model) {
  const compared = element(
    "a",
    { class: "card", href: `#/models/${model.id}/compare` },
    element("strong", {}, "Compare methods"),
    element("span", {}, "The same rows by PCA, LDA and other methods, side by side."),
  );
  const lineup = element(
    "a",
    { class: "card", href: `#/models/${model.id}/lineup` },
    element("strong", {}, "Lineup"),
    element("span", {}, "Find this picture among eight fits to shuffled classes. If you cannot, it shows nothing."),
  );
  return model.dataset_id && element("div", { class: "cards" }, compared, lineup);
}

function starts({ card }) {
  const values = (card.search?.starts ?? []).map(({ divergence }) => divergence).filter(Number.isFinite);
  if (values.length < 2) return null;
  return element(
    "section",
    { class: "narrow" },
    element("h2", {}, "How sure the search is"),
    element(
      "p",
      {},
      element("span", { class: "explained", title: MEANINGS.separation }, "Separation"),
      ` of the classes at the end of ${plural(values.length, "start")}. `,
      card.search.chosen
        ? `The picture is one of ${plural(card.search.chosen.n_candidates, "candidate")} on the way there: the one that does best on rows left out of the search.`
        : `The best, ${short(Math.max(...values))}, was taken.`,
    ),
    element("figure", {}, histogram(values, values.length)),
  );
}
