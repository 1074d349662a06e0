// The methods that the service offers, as GET /v1/methods lists them.

import { get } from "./api.js";

let asked = null;

// [{ name, title, common, validation (the usual one), parameters: [{ name, description, default, ...schema }] }]
export function listMethods() {
  asked ??= get("v1/methods").then(read, (error) => ((asked = null), Promise.reject(error)));
  return asked;
}

const read = ({ data, validation }) =>
  data.map((method) => ({
    ...method,
    validation,
    parameters: method.parameters.map(({ accepts, ...parameter }) => ({ ...parameter, ...accepts })),
  }));

export async function titleOf(name) {
  return (await listMethods()).find((method) => method.name === name)?.title ?? name;
}

// The options of a fit that differ from the defaults: { params, validation? }.
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
