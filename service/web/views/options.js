// The options of a fit. The number of dimensions is always visible; the others are collapsed, and built from `listMethods`.

import { element, replace } from "../element.js";
import { listMethods } from "../methods.js";

const DIMENSIONS = [
  [1, "Line"],
  [2, "Plane"],
  [3, "Space"],
];
const OPEN = new Set(["n_components"]); // shown outside the collapsed part

// { dimensions, advanced, read() }: two nodes, and a function that returns method, params and validation of a fit.
// `wish` has the earlier choices.
export async function fitOptions(wish = {}) {
  const methods = await listMethods();
  const { n_components: components = 2 } = wish.params ?? {};
  const validation = wish.validation === null ? { folds: 0 } : (wish.validation ?? {});
  const dimensions = element(
    "fieldset",
    { class: "segments" },
    element("legend", {}, "Dimensions"),
    DIMENSIONS.map(([number, title]) => [
      element("input", {
        type: "radio",
        name: "dimensions",
        id: `dimensions-${number}`,
        value: String(number),
        checked: number === Math.min(3, components),
      }),
      element("label", { for: `dimensions-${number}` }, `${number} · ${title}`),
    ]),
  );
  const method = element(
    "select",
    { id: "method" },
    methods.map(({ name, title }) => element("option", { value: name }, title)),
  );
  const number = (id, most, value) => element("input", { id, type: "number", min: "0", max: String(most), value });
  const [folds, permutations, bootstraps] = [
    number("folds", 20, String(validation.folds ?? 5)),
    number("permutations", 1000, String(validation.permutations ?? 0)),
    number("bootstraps", 1000, String(validation.bootstraps ?? 0)),
  ];
  const cost = element("p", { class: "hint", "aria-live": "polite" });
  const sayCost = () => {
    const [k, p, b] = [folds, permutations, bootstraps].map((input) => Number(input.value));
    const times = k >= 2 ? (1 + k) * (1 + p) + b : 1;
    replace(cost, times === 1 ? "Runs the whole fit once." : `Runs the whole fit ${times} times.`);
  };
  for (const input of [folds, permutations, bootstraps]) input.addEventListener("input", sayCost);
  sayCost();
  const parameters = element("div", { class: "fields" });
  let fields = [];
  const choose = () => {
    const chosen = methods.find(({ name }) => name === method.value);
    const said = method.value === wish.method ? (wish.params ?? {}) : {};
    fields = chosen.parameters
      .filter(({ name }) => !OPEN.has(name))
      .map((parameter) => parameterField(parameter, said[parameter.name]));
    replace(
      parameters,
      fields.map(({ node }) => node),
    );
  };
  if (wish.method) method.value = wish.method;
  method.addEventListener("change", choose);
  choose();
  const advanced = element(
    "details",
    {},
    element("summary", {}, "Advanced"),
    field("Method", method),
    field(
      "Held-out folds",
      folds,
      "The whole fit is repeated this many times on a part of the rows and judged on the rest. 0 switches this off.",
    ),
    field(
      "Fits to shuffled classes",
      permutations,
      "Shows how often chance does as well, as a p-value. Each costs as much as the fit itself, folds included.",
    ),
    field(
      "Bootstrap fits",
      bootstraps,
      "Fits to bootstrap samples of the rows. They give intervals for the weights. Each costs as much as the fit itself.",
    ),
    cost,
    parameters,
  );
  const read = () => {
    const params = { n_components: Number(dimensions.querySelector(":checked").value) };
    for (const { name, value } of fields.map((each) => each.read())) if (value !== undefined) params[name] = value;
    const validation = {
      folds: Number(folds.value),
      permutations: Number(permutations.value),
      bootstraps: Number(bootstraps.value),
      ceiling: true,
    };
    return { method: method.value, params, validation: validation.folds >= 2 ? validation : null };
  };
  return { dimensions, advanced, read };
}

function field(title, input, description) {
  const hint = description && element("p", { class: "hint", id: `${input.id}-hint` }, description);
  if (hint) input.setAttribute("aria-describedby", hint.id);
  return element("div", { class: "field" }, element("label", { for: input.id }, title), input, hint);
}

// An input for a parameter. An unchanged value is not sent. `said` is the value of an earlier fit.
function parameterField({ name, description, ...schema }, said) {
  const id = `parameter-${name}`;
  const initial = asText(schema.default);
  const input = schema.enum
    ? element(
        "select",
        { id },
        schema.enum.map((value) => element("option", { value }, asWords(value))),
      )
    : element("input", {
        id,
        ...(isPlainNumber(schema) ? { type: "number", step: "any", min: schema.minimum } : { type: "text" }),
      });
  input.value = said === undefined ? initial : asText(said);
  const title = asWords(name).replace(/^n /, "number of ");
  const read = () => ({ name, value: input.value === initial ? undefined : parse(input.value) });
  return { node: field(title[0].toUpperCase() + title.slice(1), input, description), read };
}

function asText(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const asWords = (name) => name.replaceAll("_", " ");
const isPlainNumber = ({ type }) => type === "number" || type === "integer";

// Numbers and lists are parsed as JSON, everything else is text. The service validates it.
function parse(text) {
  if (text.trim() === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text.trim();
  }
}
