// A table on its way to the service: always plain CSV, with a role for every column that could be taken for another.

import { postCsv } from "./api.js";
import { writeRow } from "./csv.js";

// The features of the rows as CSV: what a model of this table is asked with.
export const featuresAsCsv = ({ features, rows }) => [features, ...rows].map(writeRow).join("\n");

// The dataset that the service makes of the table, with other labels where they are given.
export function upload(table, name, { signal, labels = table.labels }) {
  const { target, features, rows, roles, id, group } = table;
  const named = [id && ["id", id], group && ["group", group]].filter(Boolean);
  const header = [...features, ...named.map(([, column]) => column.name), target];
  const lines = rows.map((row, index) => [...row, ...named.map(([, column]) => column.values[index]), labels[index]]);
  const columns = { ...roles, ...Object.fromEntries(named.map(([role, column]) => [column.name, role])) };
  const query = new URLSearchParams({ target, name: name.slice(0, 200) });
  if (Object.keys(columns).length) query.set("columns", JSON.stringify(columns));
  return postCsv(`v1/datasets?${query}`, [header, ...lines].map(writeRow).join("\n"), { signal });
}
