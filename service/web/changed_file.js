// A stored dataset as a file, to be changed and fitted again: its rows, roles, and the options of its fit.

import { asCsv } from "./csv_text.js";

// `leftOut` has row numbers; `classes` maps labels to new ones, or to null if their rows are left out.
export function asChangedFile(name, { columns, rowNumbers }, wish, { leftOut = new Set(), classes = new Map() }) {
  const target = columns.find(({ role }) => role === "target");
  const labelOf = (row) => {
    const label = target.values[row];
    return classes.has(String(label)) ? classes.get(String(label)) : label;
  };
  const rows = rowNumbers.filter((row) => !leftOut.has(row) && !(target && labelOf(row) === null));
  const lines = rows.map((row) => columns.map((column) => (column === target ? labelOf(row) : column.values[row])));
  const text = asCsv([columns.map((column) => column.name), ...lines]);
  const roles = columns.filter((column) => column !== target).map((column) => [column.name, column.role]);
  const settings = { target: target?.name, delimiter: ",", decimal: ".", columns: Object.fromEntries(roles) };
  return { name, body: new Blob([text], { type: "text/csv" }), type: "text/csv", settings, wish };
}
