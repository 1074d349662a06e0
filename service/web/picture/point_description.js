// The tooltip of a point.

import { element } from "../element.js";
import { short } from "../words.js";
import { HELD_OUT } from "./cloud.js";

const SHOWN_VALUES = 8;

// `point` is { kind, z, code, row, predicted } or a new row's { title, z, code }.
export function describePoint(point, { model, table, weighty }) {
  const label = String(model.classes[point.code]);
  const entries = valuesOf(point.row, table, weighty);
  const shown = entries.slice(0, SHOWN_VALUES);
  return [
    element("strong", {}, [titleOf(point, table), label, ...remarks(point, model)].filter(Boolean).join(" · ")),
    element(
      "dl",
      {},
      shown.map(([name, value]) => [element("dt", {}, name), element("dd", {}, value === null || value === "" ? "missing" : String(value))]),
      shown.length === 0 && Array.from(point.z, (value, axis) => [element("dt", {}, `axis ${axis + 1}`), element("dd", {}, short(value))]),
    ),
    entries.length > SHOWN_VALUES && element("span", { class: "hint" }, `and ${entries.length - SHOWN_VALUES} more`),
  ].filter(Boolean);
}

export function titleOf({ title, row }, table) {
  if (title) return title;
  if (row < 0) return "";
  const id = table?.columns.find(({ role }) => role === "id");
  return id ? String(id.values[row]) : `Row ${row + 1}`;
}

function remarks({ kind, code, predicted }, model) {
  if (kind !== HELD_OUT) return [];
  if (predicted === undefined) return ["held out"];
  return [predicted === code ? "held out, recognized" : `held out, taken for ${model.classes[predicted]}`];
}

// What a row holds: of many columns first those that are only shown, then those that weigh most.
function valuesOf(row, table, weighty) {
  if (!table || row < 0) return [];
  const columns = table.columns.filter(({ role }) => role !== "id" && role !== "target");
  const rank = ({ name, role }) => (role === "info" ? -1 : weighty.indexOf(name) >= 0 ? weighty.indexOf(name) : weighty.length);
  const ordered = columns.length > SHOWN_VALUES ? [...columns].sort((a, b) => rank(a) - rank(b)) : columns;
  return ordered.map(({ name, values }) => [name, values[row]]);
}
