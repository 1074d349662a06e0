// The methods that the service offers, out of its own description: one registry for library, interface and page.

import { get } from "./api.js";

const FIRST = ["melm", "pca", "lda", "nca", "pls"]; // those that people compare first
let asked = null;

// [{ name, title, isFirst, validation (the usual one), parameters: [{ name, ...schema }] }], the first compared first.
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
      validation: properties.validation?.default ?? {},
      isFirst: FIRST.includes(properties.method.const),
      parameters: Object.entries(resolve(properties.params).properties).map(([name, schema]) => ({ name, ...schema })),
    }))
    .sort((a, b) => rank(a) - rank(b) || a.title.localeCompare(b.title));
}

export async function titleOf(name) {
  return (await listMethods()).find((method) => method.name === name)?.title ?? name;
}

// Of a fit's options those that somebody chose: { params, validation? }.
export async function chosenOf(name, { params, validation }) {
  const { parameters = [], validation: usual } = (await listMethods()).find((method) => method.name === name) ?? {};
  const defaults = Object.fromEntries(parameters.map((parameter) => [parameter.name, parameter.default]));
  const chosen = { params: without(params, defaults) };
  if (validation === null) chosen.validation = null;
  else if (validation && Object.keys(without(validation, usual)).length) chosen.validation = without(validation, usual);
  return chosen;
}

function without(values, defaults) {
  const isDefault = ([key, value]) => JSON.stringify(defaults?.[key]) === JSON.stringify(value);
  return Object.fromEntries(Object.entries(values).filter((entry) => !isDefault(entry)));
}
