// Code that does the same as the page: the fit and the prediction of a row, in Python and with curl.

const LINE = 88; // characters

// `wish` has the chosen options, { params, validation? }; `row` is an example, { column: value }.
export function pythonSnippet(model, wish, row, url) {
  const options = Object.entries({ method: model.method, ...said(wish) }).map(([name, value]) => `${name}=${asPython(value)}`);
  const fit = [
    `dataset = client.datasets[${asPython(model.dataset_id)}]`,
    `fit = client.fits.submit(dataset, ${options.join(", ")})`,
    "model = fit.wait()",
  ];
  return [
    "from melm.remote import Client",
    "",
    `client = Client(${asPython(url)})`,
    ...(model.dataset_id ? fit : [`model = client.models[${asPython(model.id)}]`]),
    `rows = [${asPython(row, true)}]`,
    "print(model.transform(rows), model.predict(rows))",
  ].join("\n");
}

export function curlSnippet(model, wish, row, url, hasKey) {
  const key = hasKey ? ' -H "Authorization: Bearer $MELM_API_KEY"' : "";
  const send = (path, body) => `curl "$service/v1/${path}"${key} \\\n  --json ${quoted(JSON.stringify(body))}`;
  return [
    `service=${url}`,
    ...(model.dataset_id ? [send("fits", { dataset_id: model.dataset_id, method: model.method, ...said(wish) })] : []),
    send(`models/${model.id}/predict`, { rows: [row] }),
  ].join("\n");
}

const said = ({ params, ...rest }) => (Object.keys(params).length ? { params, ...rest } : rest);

// A row that the model takes: the first of its table, or one made of the examples of its schema.
export function exampleRow({ properties, required }, table) {
  const value = (name) => table?.columns.find((column) => column.name === name)?.values[0] ?? exampleOf(properties[name]);
  return Object.fromEntries(required.map((name) => [name, value(name)]));
}

const exampleOf = ({ type, examples }) => examples?.[0] ?? ([type].flat().includes("number") ? 0 : "");

// In a single-quoted shell word only the quote has to be escaped.
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function asPython(value, isBroken = false) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map((each) => asPython(each)).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  const entries = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${asPython(each)}`);
  const inLine = `{${entries.join(", ")}}`;
  return isBroken && inLine.length > LINE ? `{\n${entries.map((entry) => `    ${entry},\n`).join("")}}` : inLine;
}
