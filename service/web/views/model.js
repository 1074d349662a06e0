// A model: its picture, beside it what remains on held-out rows, what it is made of, and what can be done with it.

import { get, request } from "../api.js";
import { bars } from "../charts/bars.js";
import { histogram } from "../charts/histogram.js";
import { scoreScale } from "../charts/score_scale.js";
import { writeRow } from "../csv.js";
import { rasterize, save } from "../download.js";
import { button, element, replace } from "../element.js";
import { findTable } from "../local_tables.js";
import { chosenOf, titleOf } from "../methods.js";
import { curlSnippet, pythonSnippet } from "../snippets.js";
import { loading } from "../states.js";
import { count, percent, plural, score, short } from "../words.js";
import { MOST_DRAWN, trainingCloud } from "./cloud.js";
import { newRows } from "./new_rows.js";
import { Picture } from "./picture.js";

export async function modelView(context, modelId) {
  replace(context.place, loading("Getting the model"));
  const model = await get(`v1/models/${modelId}`, { signal: context.signal });
  const fit = model.fit_id && (await get(`v1/fits/${model.fit_id}`, { signal: context.signal }).catch(() => null));
  await showModel(context, modelId, fit);
}

export async function showModel({ place, signal, setTitle }, modelId, fit) {
  const [model, plot] = await Promise.all([
    get(`v1/models/${modelId}`, { signal }),
    get(`v1/models/${modelId}/plot?max_points=${MOST_DRAWN}`, { signal }),
  ]);
  const table = model.dataset_id ? await findTable(model.dataset_id) : undefined;
  const picture = new Picture(model, plot, await trainingCloud(model, plot, table, signal), table);
  signal.addEventListener("abort", () => picture.dispose());
  const name = model.name ?? fit?.name ?? model.id;
  setTitle(name);
  replace(
    place,
    await heading(model, fit, name),
    element("div", { class: "pair" }, inSample(model, picture), heldOut(model)),
    ...checks(model),
    makeUp(model),
    newRows(model, picture, signal),
    starts(model),
    takeAway(model, await chosenOf(model.method, fit?.params ?? model.card.parameters ?? {}), picture, name, signal),
  );
}

async function heading(model, fit, name) {
  const { n_rows: rows, n_features: features } = model.card.data ?? {};
  const facts = [await titleOf(model.method), rows && `${count(rows)} × ${count(features)}`, plural(model.classes.length, "class", "classes")];
  return element(
    "div",
    { class: "heading" },
    element("h1", {}, name),
    element("p", { class: "lead" }, facts.filter(Boolean).join(" · "), fit?.reused && " · fitted before"),
  );
}

function warnings({ warnings: texts = [] }) {
  return texts.length > 0 && element("ul", { class: "problems" }, texts.map((text) => element("li", {}, asSeparation(text))));
}

const asSeparation = (text) => text.replaceAll("divergence", "separation");

function inSample(model, picture) {
  const accuracy = model.card.in_sample?.leave_one_out_balanced_accuracy;
  const choose = element(
    "select",
    { "aria-label": "Components", onchange: (event) => picture.choose(event.target.value === "space" ? "space" : Number(event.target.value)) },
    picture.choices.map(([value, title]) => element("option", { value: String(value) }, title)),
  );
  return element(
    "section",
    { class: "panel", "aria-labelledby": "in-sample-title" },
    element(
      "div",
      { class: "panel-head" },
      element("h2", { id: "in-sample-title" }, "The rows it was fitted to"),
      element("p", { class: "big" }, accuracy === undefined ? "–" : score(accuracy)),
      element("p", { class: "hint" }, "balanced accuracy, each row judged by the others"),
      picture.choices.length > 1 && choose,
    ),
    picture.node,
  );
}

function heldOut({ card, classes }) {
  const head = (number, hint) => [element("h2", { id: "held-out-title" }, "Rows it has not seen"), element("p", { class: "big" }, number), element("p", { class: "hint" }, hint)];
  const { validation } = card;
  const content = validation
    ? [
        element("div", { class: "panel-head" }, head(score(validation.balanced_accuracy), `balanced accuracy, ${percent(validation.confidence)} interval ${score(validation.interval[0])} to ${score(validation.interval[1])}`)),
        scoreScale(validation),
        element("p", { class: "verdict" }, verdict(card)),
        shuffled(card),
        confusion(validation.confusion, classes),
        warnings(card),
      ]
    : [
        element("div", { class: "panel-head" }, head("–", "not judged on held-out rows")),
        element("p", { class: "verdict" }, "This fit was not repeated on a part of the rows. However clear the picture looks, it does not say whether the separation is real. Fit again with held-out folds."),
        warnings(card),
      ];
  return element("section", { class: "panel held-out", "aria-labelledby": "held-out-title" }, content);
}

function verdict({ validation, in_sample: inSample }) {
  const loss = (inSample?.leave_one_out_balanced_accuracy ?? 0) - validation.balanced_accuracy;
  if (!validation.is_real) return "The separation does not hold. On rows it has not seen, this view does no better than guessing: the picture shows noise.";
  if (loss > 0.1) return "Part of the separation holds. The picture looks better than it is: expect the held-out score on new rows.";
  return "The separation holds. Rows that it has not seen fall where the picture says.";
}

function shuffled({ permutation_test: test }) {
  if (!test) return null;
  const p = test.p_value_of_balanced_accuracy ?? test.p_value_of_divergence;
  return element("p", {}, `Against ${plural(test.permutations, "fit")} to shuffled classes: p = ${score(p)}.`);
}

function confusion(counts, classes) {
  const most = Math.max(...counts.map((row) => row.reduce((sum, value) => sum + value, 0)));
  const cell = (value, isRight) =>
    element("td", { class: isRight ? "right" : "wrong", style: { "--share": `${Math.round((100 * value) / most)}%` } }, value ? count(value) : "·");
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Held-out rows by class" },
    element(
      "table",
      { class: "confusion" },
      element("caption", {}, "Held-out rows: true class down, predicted class across"),
      element("thead", {}, element("tr", {}, element("td"), classes.map((label) => element("th", { scope: "col" }, String(label))))),
      element("tbody", {}, counts.map((row, code) => element("tr", {}, element("th", { scope: "row" }, String(classes[code])), row.map((value, other) => cell(value, code === other))))),
    ),
  );
}

function checks(model) {
  const compared = element("a", { class: "card", href: `#/models/${model.id}/compare` }, element("strong", {}, "Compare methods"), element("span", {}, "The same rows by PCA, LDA and others, side by side."));
  const lineup = element("a", { class: "card", href: `#/models/${model.id}/lineup` }, element("strong", {}, "Lineup"), element("span", {}, "Find this picture among eight of shuffled classes. If you cannot, it shows nothing."));
  return model.dataset_id ? [element("div", { class: "cards" }, compared, lineup)] : [];
}

function makeUp({ card }) {
  if (!card.loadings?.length) return null;
  const perAxis = (key, title) => () =>
    card[key][0].map((_, axis) => {
      const column = (rows) => rows?.map((row) => row[axis]);
      const interval = card.stability && { low: column(card.stability[key].low), high: column(card.stability[key].high) };
      return bars(card.features, column(card[key]), `z${axis}: ${title}${interval ? ", with 95 % intervals" : ""}`, interval);
    });
  const lost = (key, title) => () => bars(card.importance.columns ?? card.features, card.importance[key], title);
  const measures = [
    ["standardized weight", perAxis("loadings", "standardized weight")],
    ["correlation with the axis", perAxis("axis_correlations", "correlation with the axis")],
    card.importance?.balanced_accuracy_drop && ["what held-out accuracy loses without it", lost("balanced_accuracy_drop", "loss of held-out balanced accuracy when the feature is shuffled")],
    card.importance?.divergence_drop && ["what the separation loses without it", lost("divergence_drop", "loss of separation when the feature is shuffled")],
  ].filter(Boolean);
  const content = element("div", { class: "axes" }, measures[0][1]());
  const choose = element(
    "select",
    { "aria-label": "Measure", onchange: (event) => replace(content, measures[Number(event.target.value)][1]()) },
    measures.map(([title], index) => element("option", { value: String(index) }, title)),
  );
  return element("section", {}, element("div", { class: "row" }, element("h2", {}, "What makes up the picture"), choose), content);
}

function starts({ card }) {
  const values = (card.search?.starts ?? []).map(({ divergence }) => divergence).filter(Number.isFinite);
  if (values.length < 2) return null;
  return element(
    "section",
    { class: "narrow" },
    element("h2", {}, "How sure the search is"),
    element("p", {}, `Separation of the classes at the end of ${plural(values.length, "start")}; the best, ${short(Math.max(...values))}, was taken.`),
    element("figure", {}, histogram(values, values.length)),
  );
}

function takeAway(model, params, picture, name, signal) {
  const file = name.replace(/[^\w.-]+/g, "-");
  const svg = async () => (await request(`v1/models/${model.id}/plot.svg`, { signal })).blob();
  const downloads = [
    ["Model (.npz)", async () => save(await (await request(`v1/models/${model.id}/file`, { signal, headers: { Accept: "application/x-npz" } })).blob(), `${file}.npz`)],
    ["Picture (PNG)", async () => save(await rasterize(await svg()), `${file}.png`)],
    ["Picture (SVG)", async () => save(await svg(), `${file}.svg`)],
    ["Report (HTML)", async () => save(await (await request(`v1/models/${model.id}/report`, { signal, headers: { Accept: "text/html" } })).blob(), `${file}.html`)],
    picture.plot.n_components > 1 && ["Projected rows (CSV)", () => save(new Blob([projectedRows(picture)], { type: "text/csv" }), `${file}-projected.csv`)],
  ].filter(Boolean);
  return element(
    "section",
    {},
    element("h2", {}, "Take it with you"),
    element("p", { class: "actions" }, downloads.map(([text, action]) => button(text, action))),
    element("div", { class: "snippets" }, snippet("Python", pythonSnippet(model, params)), snippet("curl", curlSnippet(model, params))),
  );
}

function projectedRows({ points, table, model }) {
  const shown = points.filter(({ kind }) => kind === "seen");
  const header = ["row", ...shown[0].z.map((_, axis) => `z${axis}`), "class"];
  const lines = shown.map(({ z, code, row }, index) => writeRow([table?.rowNames?.[row] ?? String((row ?? index) + 1), ...z.map(String), String(model.classes[code])]));
  return [header.join(","), ...lines].join("\n");
}

function snippet(title, text) {
  const copy = element("button", { type: "button", class: "link" }, "Copy");
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
  });
  return element(
    "figure",
    { class: "snippet" },
    element("figcaption", {}, title, copy),
    element("pre", { tabindex: "0", "aria-label": `${title} snippet` }, element("code", {}, text)),
  );
}
