// The features that make up the picture, by importance. The categories of a column are combined.

import { bars } from "../charts/bars.js";
import { element, replace } from "../element.js";
import { MEANINGS } from "../meanings.js";
import { pushOf } from "../picture/push.js";
import { count, plural, signed } from "../words.js";

const SURE = 0.5; // share of the folds

export function makeUp(model, picture) {
  const { card } = model;
  if (!card.loadings?.length) return null;
  const { selection } = picture;
  const push = () => (selection.size && picture.features ? pushOf(picture.features, model, selection.rows) : null);
  const measures = [
    ["standardized weight", () => perAxis(card, "loadings", "weight", "jointWeight", push())],
    ["correlation with the axis", () => perAxis(card, "axis_correlations", "correlation", "jointCorrelation")],
    ...lossesOf(card),
  ];
  const content = element("div", { class: "axes" });
  const explanation = element("p", { class: "hint" });
  const choose = element(
    "select",
    { "aria-label": "Measure", onchange: () => show() },
    measures.map(([title], index) => element("option", { value: String(index) }, title)),
  );
  const show = () => {
    const isMarked = choose.value === "0" && push();
    replace(explanation, sayKept(card), isMarked && `Diamonds: how far each column moves the ${plural(selection.size, "selected row")} along the axis, on average.`);
    replace(content, measures[Number(choose.value)][1]());
  };
  show();
  selection.onChange(show);
  const head = element("div", { class: "row" }, element("h2", { id: "make-up-title" }, "What makes up the picture"), choose);
  return element("section", { class: "panel", "aria-labelledby": "make-up-title" }, head, explanation, content);
}

// One chart per axis, with one bar per column.
// `push` is how far the features move the selected rows, if there are any.
function perAxis(card, key, meaning, jointMeaning, push = null) {
  const shares = keptShares(card);
  const columns = columnsOf(card, key).filter(({ name }) => shares === null || shares.has(name));
  const directions = card[key][0].length === 2 ? [", across", ", up"] : [];
  return card[key][0].map((_, axis) => {
    const entries = columns.map(({ name, values, interval, parts, positions }) => ({
      name,
      value: values[axis],
      interval: interval?.map((ends) => ends[axis]),
      mark: push ? positions.reduce((sum, position) => sum + push[axis][position], 0) : undefined,
      meaning: parts.length ? `${MEANINGS[jointMeaning]} ${parts.map(([part, each]) => `${part}: ${signed(each[axis])}`).join(", ")}` : MEANINGS[meaning],
      isUnsure: shares !== null && shares.get(name) < SURE,
    }));
    return bars(entries, `Axis ${axis + 1}${directions[axis] ?? ""}${columns.some(({ interval }) => interval) ? ", with 95 % intervals" : ""}`);
  });
}

// The share of folds in which feature selection kept each feature; null if there was no selection.
const keptShares = ({ search }) => (search?.chosen?.kept ? new Map(search.chosen.kept.map(({ feature, share_of_folds: share }) => [feature, share])) : null);

function sayKept(card) {
  const shares = keptShares(card);
  if (!shares) return null;
  const nSure = [...shares.values()].filter((share) => share === 1).length;
  return `The picture uses ${count(shares.size)} of ${plural(card.data.n_features, "feature")}; every fold chose ${count(nSure)} of them. Faint bars: fewer than half of the folds did. `;
}

// The columns of a table, with the joint value of their features; or the features of a matrix.
function columnsOf(card, key) {
  const places = new Map(card.features.map((_, index) => [card.feature_positions?.[index] ?? index, index]));
  const spread = card.stability?.[key];
  const ofFeature = (index, name = card.features[index]) => ({
    name,
    values: card[key][index],
    interval: spread && [spread.low[index], spread.high[index]],
    parts: [],
    positions: [card.feature_positions?.[index] ?? index],
  });
  if (!card.columns) return card.features.map((_, index) => ofFeature(index));
  return card.columns.map((column) => {
    const indexes = column.features.map((feature) => places.get(feature)).filter((index) => index !== undefined);
    if (column.features.length === 1 && indexes.length) return ofFeature(indexes[0], column.name);
    return { name: column.name, values: column[key], interval: null, positions: column.features, parts: indexes.map((index) => [card.features[index], card[key][index]]) };
  });
}

function lossesOf({ importance, features }) {
  if (!importance) return [];
  const chart = (key, title) => () =>
    bars(importance[key].map((value, index) => ({ name: (importance.columns ?? features)[index], value, meaning: MEANINGS[title] })), "");
  return [
    importance.balanced_accuracy_drop && ["what held-out accuracy loses without it", chart("balanced_accuracy_drop", "accuracyDrop")],
    importance.divergence_drop && ["what the separation loses without it", chart("divergence_drop", "divergenceDrop")],
  ].filter(Boolean);
}
