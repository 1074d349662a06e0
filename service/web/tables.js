// The upload of files: first a dry run, which shows how the service would read the file, then the upload itself.

import { request } from "./api.js";

const LOOKED_AT = 16 * 2 ** 20; // bytes of a text file that a dry run sends
const TYPES = {
  csv: "text/csv",
  tsv: "text/csv",
  txt: "text/csv",
  json: "application/json",
  npz: "application/x-npz",
  arrow: "application/vnd.apache.arrow.stream",
  feather: "application/vnd.apache.arrow.stream",
  parquet: "application/vnd.apache.parquet",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
};
export const ENDINGS = Object.keys(TYPES).map((ending) => `.${ending}`);

// A file from a file input or a drop.
export function asFile(chosen) {
  const ending = chosen.name.match(/\.(\w+)$/)?.[1].toLowerCase();
  return { name: chosen.name.replace(/\.\w+$/, ""), body: chosen, type: TYPES[ending] ?? "text/csv", settings: {} };
}

// How the file would be read: `ReadingOut`.
export async function read({ body, type, settings }, signal) {
  const isText = type === "text/csv";
  const query = asQuery(settings);
  query.set("dry_run", "true");
  if (isText && body.size > LOOKED_AT) query.set("file_bytes", String(body.size));
  const sent = isText ? body.slice(0, LOOKED_AT) : body;
  return send(query, sent, type, signal);
}

// Uploads the file; returns the dataset.
export function upload({ name, body, type, settings }, signal) {
  const query = asQuery(settings);
  query.set("name", name.slice(0, 200));
  return send(query, body, type, signal);
}

async function send(query, body, type, signal) {
  const headers = { "Content-Type": type, Accept: "application/json" };
  return (await request(`v1/datasets?${query}`, { method: "POST", headers, body, signal })).json();
}

function asQuery(settings) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(settings)) {
    if (Array.isArray(value)) for (const each of value) query.append(name, each);
    else if (value !== null && typeof value === "object") {
      if (Object.keys(value).length) query.set(name, JSON.stringify(value));
    } else if (value !== undefined && value !== null) query.set(name, String(value));
  }
  return query;
}

// The settings with the fix of a problem.
export function settle(settings, { parameter, value }) {
  const before = settings[parameter];
  if (parameter === "columns") return { ...settings, columns: { ...before, ...value } };
  if (parameter === "missing_values") return { ...settings, missing_values: [...(before ?? []), value] };
  return { ...settings, [parameter]: value };
}

// The settings with another role for a column. The target is a separate parameter, because there is only one.
export function withRole(settings, name, role) {
  const columns = { ...settings.columns };
  delete columns[name];
  if (role === "target") return { ...settings, columns, target: name };
  return { ...settings, columns: { ...columns, [name]: role }, ...(settings.target === name && { target: undefined }) };
}
