// Files on their way to the service, which reads them: first a dry run that says what would be read, then the upload.

import { request } from "./api.js";

const LOOKED_AT = 16 * 2 ** 20; // bytes of a text that a dry run is sent
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

// A file out of what a person chose.
export function asFile(chosen) {
  const ending = chosen.name.match(/\.(\w+)$/)?.[1].toLowerCase();
  return { name: chosen.name.replace(/\.\w+$/, ""), body: chosen, type: TYPES[ending] ?? "text/csv", settings: {} };
}

// What would be read, as `ReadingOut` of the interface describes it.
export async function read({ body, type, settings }, signal) {
  const isText = type === "text/csv";
  const query = asQuery(settings);
  query.set("dry_run", "true");
  if (isText && body.size > LOOKED_AT) query.set("file_bytes", String(body.size));
  const sent = isText ? body.slice(0, LOOKED_AT) : body;
  return send(query, sent, type, signal);
}

// The dataset that the service makes of the file.
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

// The settings with what would settle a problem.
export function settle(settings, { parameter, value }) {
  const before = settings[parameter];
  if (parameter === "columns") return { ...settings, columns: { ...before, ...value } };
  if (parameter === "missing_values") return { ...settings, missing_values: [...(before ?? []), value] };
  return { ...settings, [parameter]: value };
}

// The settings with another role for a column. The target has a parameter of its own, and there is one of it.
export function withRole(settings, name, role) {
  const columns = { ...settings.columns };
  delete columns[name];
  if (role === "target") return { ...settings, columns, target: name };
  return { ...settings, columns: { ...columns, [name]: role }, ...(settings.target === name && { target: undefined }) };
}
