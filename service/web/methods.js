// The methods that the service offers, out of its own description: one registry for library, interface and page.

import { get } from "./api.js";

const FIRST = ["melm", "pca", "lda", "nca", "pls"]; // those that people compare first
let asked = null;

// [{ name, title, parameters: [{ name, ...schema }] }], the ones compared first first.
export function listMethods() {
  asked ??= get("openapi.json").then(read, (error) => ((asked = null), Promise.reject(error)));
  return asked;
}

function read({ components: { schemas } }) {
  const resolve = (schema) => (schema.$ref ? schemas[schema.$ref.split("/").pop()] : schema);
  const rank = ({ name }) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  return Object.values(schemas)
    .filter(({ properties }) => properties?.method?.const && properties.params)
    .map(({ description, properties }) => ({
      name: properties.method.const,
      title: description.replace(/^A fit by (.*)\.$/s, "$1"),
      isFirst: FIRST.includes(properties.method.const),
      parameters: Object.entries(resolve(properties.params).properties).map(([name, schema]) => ({ name, ...schema })),
    }))
    .sort((a, b) => rank(a) - rank(b) || a.title.localeCompare(b.title));
}

export async function titleOf(name) {
  return (await listMethods()).find((method) => method.name === name)?.title ?? name;
}

// Of the parameters of a fit, those that somebody chose.
export async function chosenOf(name, params) {
  const known = (await listMethods()).find((method) => method.name === name)?.parameters ?? [];
  const isDefault = ([key, value]) =>
    known.some((parameter) => parameter.name === key && JSON.stringify(parameter.default) === JSON.stringify(value));
  return Object.fromEntries(Object.entries(params).filter((entry) => !isDefault(entry)));
}
