// Downloads: model, picture, report, projected rows; and code that does the same.

import { getKey, request } from "../api.js";
import { asCsv } from "../csv_text.js";
import { rasterize, save } from "../download.js";
import { button, element, replace } from "../element.js";
import { curlSnippet, exampleRow, pythonSnippet } from "../snippets.js";

export function takeAway(model, schema, wish, picture, name, signal) {
  const file = name.replace(/[^\w.-]+/g, "-");
  const part = async (path, type) =>
    (await request(`v1/models/${model.id}/${path}`, { signal, headers: { Accept: type } })).blob();
  const drawing = () => part("plot.svg", "image/svg+xml");
  const projected = () => new Blob([projectedRows(picture)], { type: "text/csv" });
  const downloads = [
    ["Model (.npz)", "npz", () => part("file", "application/x-npz")],
    ["Picture (PNG)", "png", async () => rasterize(await drawing())],
    ["Picture (SVG)", "svg", drawing],
    ["Report (HTML)", "html", () => part("report", "text/html")],
    ...(picture.plot.n_components > 1 ? [["Projected rows (CSV)", "csv", projected]] : []),
  ];
  const snippets = element("div", { class: "snippets" });
  const url = (location.origin + location.pathname).replace(/\/$/, "");
  const write = () => {
    const row = exampleRow(schema, picture.table);
    replace(
      snippets,
      snippet("Python", pythonSnippet(model, wish, row, url)),
      snippet("curl", curlSnippet(model, wish, row, url, getKey() !== null)),
      model.card.citation && snippet("Citation", `${model.card.citation.paper}\n${model.card.citation.software}`),
    );
  };
  write();
  picture.ready.then(write, () => {}); // with the values of an existing row
  return element(
    "section",
    {},
    element("h2", {}, "Take it with you"),
    element(
      "p",
      { class: "actions" },
      downloads.map(([text, ending, make]) => button(text, async () => save(await make(), `${file}.${ending}`))),
    ),
    snippets,
  );
}

// The projected rows of the fit, with their numbers in the dataset, counted from 1, and their ids, if there are any.
function projectedRows({ shownRows: { Z, codes, rows }, table, model }) {
  const k = Z.length / codes.length;
  const id = table?.columns.find(({ role }) => role === "id");
  const header = ["row", ...(id ? [id.name] : []), ...Array.from({ length: k }, (_, axis) => `z${axis}`), "class"];
  const lines = Array.from(codes, (code, index) => {
    const z = Array.from(Z.subarray(k * index, k * index + k), String);
    const row = rows[index];
    return [row < 0 ? "" : row + 1, ...(id ? [id.values[row]] : []), ...z, model.classes[code]];
  });
  return asCsv([header, ...lines]);
}

function snippet(title, text) {
  const copy = element("button", { type: "button", class: "link" }, "Copy");
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
  });
  return element(
    "figure",
    { class: "snippet" },
    element("figcaption", {}, title, copy),
    element("pre", { tabindex: "0", "aria-label": `${title} snippet` }, element("code", {}, text)),
  );
}
