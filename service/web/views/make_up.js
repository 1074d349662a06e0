// What makes up the picture: each column's part in it, the strongest first. The categories of a column count together.

import { bars } from "../charts/bars.js";
import { element, replace } from "../element.js";
import { MEANINGS } from "../meanings.js";

export function makeUp({ card }) {
  if (!card.loadings?.length) return null;
  const measures = [
    ["standardized weight", () => perAxis(card, "loadings", "weight", "jointWeight")],
    ["correlation with the axis", () => perAxis(card, "axis_correlations", "correlation", "jointCorrelation")],
    ...lossesOf(card),
  ];
  const content = element("div", { class: "axes" }, measures[0][1]());
  const choose = element(
    "select",
    { "aria-label": "Measure", onchange: (event) => replace(content, measures[Number(event.target.value)][1]()) },
    measures.map(([title], index) => element("option", { value: String(index) }, title)),
  );
  return element("section", {}, element("div", { class: "row" }, element("h2", {}, "What makes up the picture"), choose), content);
}

// One chart an axis, each with one bar a column.
function perAxis(card, key, meaning, jointMeaning) {
  const columns = columnsOf(card, key);
  return card[key][0].map((_, axis) => {
    const entries = columns.map(({ name, values, interval, parts }) => ({
      name,
      value: values[axis],
      interval: interval?.map((ends) => ends[axis]),
      meaning: parts.length ? `${MEANINGS[jointMeaning]} ${parts.map(([part, each]) => `${part}: ${signed(each[axis])}`).join(", ")}` : MEANINGS[meaning],
    }));
    return bars(entries, `Axis ${axis + 1}${columns.some(({ interval }) => interval) ? ", with 95 % intervals" : ""}`);
  });
}

// The columns of a table with the joint value of their features; features by themselves where there was no table.
function columnsOf(card, key) {
  const places = new Map(card.features.map((_, index) => [card.feature_positions?.[index] ?? index, index]));
  const spread = card.stability?.[key];
  const ofFeature = (index, name = card.features[index]) => ({
    name,
    values: card[key][index],
    interval: spread && [spread.low[index], spread.high[index]],
    parts: [],
  });
  if (!card.columns) return card.features.map((_, index) => ofFeature(index));
  return card.columns.map((column) => {
    const indexes = column.features.map((feature) => places.get(feature)).filter((index) => index !== undefined);
    if (column.features.length === 1 && indexes.length) return ofFeature(indexes[0], column.name);
    return { name: column.name, values: column[key], interval: null, parts: indexes.map((index) => [card.features[index], card[key][index]]) };
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

const signed = (value) => value.toFixed(2).replace("-", "−");
