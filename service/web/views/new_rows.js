// Try it: rows that are pasted or dropped, where they fall and what class they get.

import { postCsv } from "../api.js";
import { colorOf } from "../charts/palette.js";
import { BadTable, isNumber, parseTable, readText, writeRow } from "../csv.js";
import { button, element, replace } from "../element.js";
import { explain } from "../states.js";
import { list, percent } from "../words.js";

const SHOWN = 200;

export function newRows(model, picture, signal) {
  const features = model.feature_names ?? model.projection.map((_, index) => `x${index}`);
  const answer = element("div", { "aria-live": "polite" });
  const text = element("textarea", {
    id: "rows",
    rows: "5",
    spellcheck: "false",
    placeholder: `${list(features, 3)}\n…`,
  });
  const file = element("input", {
    type: "file",
    class: "visually-hidden",
    id: "rows-file",
    accept: ".csv,.tsv,.txt,text/csv",
  });
  const ask = async () => {
    try {
      const rows = pick(text.value, features);
      const csv = [writeRow(features), ...rows.map(({ cells }) => cells.join(","))].join("\n");
      const path = `v1/models/${model.id}`;
      const [{ Z }, { probabilities, log_density: logDensity }] = await Promise.all([
        postCsv(`${path}/transform`, csv, { signal }),
        postCsv(`${path}/predict_proba?log_density=true`, csv, { signal }),
      ]);
      const judged = rows.map(({ title, cells }, index) => {
        const code = probabilities[index].indexOf(Math.max(...probabilities[index]));
        return {
          title,
          values: cells,
          z: Z[index],
          code,
          kind: "new",
          probability: probabilities[index][code],
          isFar: logDensity[index] === null,
        };
      });
      picture.addRows(judged);
      replace(answer, results(judged, model));
    } catch (error) {
      if (signal.aborted) throw error;
      const [title, detail] = explain(error);
      replace(answer, element("p", { class: "trouble" }, element("strong", {}, title), ` ${detail}`));
    }
  };
  const take = async (dropped) => {
    text.value = await readText(dropped);
    await ask();
  };
  file.addEventListener("change", () => file.files.length && take(file.files[0]));
  text.addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    take(event.dataTransfer.files[0]);
  });
  return element(
    "section",
    { class: "new-rows" },
    element("h2", {}, "Try new rows"),
    element("label", { for: "rows" }, "Paste rows with a header, or in the order of the columns; or drop a CSV file"),
    text,
    element(
      "p",
      { class: "actions" },
      button("Place them", ask, "primary"),
      element("label", { class: "button", for: "rows-file" }, "Choose a file"),
      file,
    ),
    answer,
  );
}

// The model's columns out of pasted text: by name where there is a header, by position otherwise.
function pick(text, features) {
  if (!text.trim()) throw new BadTable("There is no row yet.", "Paste at least one.");
  const isSingle = features.length === 1;
  const { names, rows } = parseTable(isSingle ? padded(text) : text);
  const hasNames = features.every((name) => names.includes(name));
  const isNumbered = names.every((name, index) => name === `column ${index + 1}`);
  if (!hasNames && !(isNumbered && names.length >= features.length)) {
    const missing = features.filter((name) => !names.includes(name));
    throw new BadTable(`Columns are missing: ${list(missing)}.`, `The model takes ${list(features, 6)}.`);
  }
  const indexes = features.map((name, index) => (hasNames ? names.indexOf(name) : index));
  return rows.map((row, index) => {
    const cells = indexes.map((at) => row[at]);
    const wrong = cells.findIndex((cell) => !isNumber(cell));
    if (wrong >= 0)
      throw new BadTable(
        `Row ${index + 1}: ${features[wrong]} is “${cells[wrong]}”, not a number.`,
        "New rows need a number in every column.",
      );
    return { cells, title: `New row ${index + 1}` };
  });
}

const padded = (text) =>
  text
    .trim()
    .split(/\r?\n/)
    .map((line, index) => `${line},${index}`)
    .join("\n");

function results(judged, { classes }) {
  const row = ({ title, code, probability, isFar, z }) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, title),
      element("td", {}, element("span", { class: "dot", style: { background: colorOf(code) } }), String(classes[code])),
      element("td", { class: "number" }, percent(probability)),
      element("td", { class: "number" }, z.map((value) => value.toFixed(2).replace("-", "−")).join(", ")),
      element("td", { class: "why" }, isFar ? "Far from every row of the fit: do not trust this class" : ""),
    );
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Classes of the new rows" },
    element(
      "table",
      { class: "results" },
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          ["Row", "Class", "Probability", "Place", ""].map((title) =>
            element(title ? "th" : "td", title ? { scope: "col" } : {}, title),
          ),
        ),
      ),
      element("tbody", {}, judged.slice(0, SHOWN).map(row)),
    ),
    judged.length > SHOWN && element("p", { class: "hint" }, `and ${judged.length - SHOWN} more`),
  );
}
