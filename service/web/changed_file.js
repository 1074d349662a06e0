// A dataset as a file again, to be changed and fitted once more: its rows, its roles, the options of its fit.

import { asCsv } from "./csv_text.js";

// `leftOut` are numbers of rows.
export function asChangedFile(name, { columns, rowNumbers }, wish, leftOut) {
  const rows = rowNumbers.filter((row) => !leftOut.has(row));
  const lines = rows.map((row) => columns.map(({ values }) => values[row]));
  const text = asCsv([columns.map((column) => column.name), ...lines]);
  const roles = columns.filter(({ role }) => role !== "target").map((column) => [column.name, column.role]);
  const target = columns.find(({ role }) => role === "target")?.name;
  const settings = { target, delimiter: ",", decimal: ".", columns: Object.fromEntries(roles) };
  return { name, body: new Blob([text], { type: "text/csv" }), type: "text/csv", settings, wish };
}
