// Try it: rows that are pasted or dropped, where they fall and what class they get.

import { postCsv } from "../api.js";
import { colorOf } from "../charts/palette.js";
import { BadTable, isMissing, isNumber, parseTable, readText, writeRow } from "../csv.js";
import { button, element, replace } from "../element.js";
import { explain } from "../states.js";
import { list, percent } from "../words.js";

const SHOWN = 200;

export function newRows(model, schema, picture, signal) {
  const columns = schema.required;
  const answer = element("div", { "aria-live": "polite" });
  const text = element("textarea", {
    id: "rows",
    rows: "5",
    spellcheck: "false",
    placeholder: `${list(columns, 3)}\n…`,
  });
  const file = element("input", {
    type: "file",
    class: "visually-hidden",
    id: "rows-file",
    accept: ".csv,.tsv,.txt,text/csv",
  });
  const ask = async () => {
    try {
      const rows = pick(text.value, schema);
      const csv = [columns, ...rows.map(({ cells }) => cells)].map(writeRow).join("\n");
      const path = `v1/models/${model.id}`;
      const [{ Z }, { probabilities, log_density: logDensity, warnings }] = await Promise.all([
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
          probability: probabilities[index][code],
          isFar: logDensity[index] === null,
        };
      });
      picture.addRows(judged);
      replace(answer, results(judged, model), notes(warnings ?? []));
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
function pick(text, { required: columns, properties }) {
  if (!text.trim()) throw new BadTable("There is no row yet.", "Paste at least one.");
  const { names, rows } = parseTable(columns.length === 1 ? padded(text) : text);
  const hasNames = columns.every((name) => names.includes(name));
  const isNumbered = names.every((name, index) => name === `column ${index + 1}`);
  if (!hasNames && !(isNumbered && names.length >= columns.length)) {
    const missing = columns.filter((name) => !names.includes(name));
    throw new BadTable(`Columns are missing: ${list(missing)}.`, `The model takes ${list(columns, 6)}.`);
  }
  const indexes = columns.map((name, index) => (hasNames ? names.indexOf(name) : index));
  return rows.map((row, index) => {
    const cells = indexes.map((at) => (isMissing(row[at]) ? "" : row[at]));
    const wrong = cells.findIndex((cell, at) => !isTaken(cell, properties[columns[at]].type));
    if (wrong >= 0) {
      const what = cells[wrong] === "" ? "is missing" : `is “${cells[wrong]}”, not a number`;
      throw new BadTable(`Row ${index + 1}: ${columns[wrong]} ${what}.`, "The model has learned from numbers there.");
    }
    return { cells, title: `New row ${index + 1}` };
  });
}

// Whether a cell is of a column's type; the service takes gaps only where it has seen some.
const isTaken = (cell, type) => (cell === "" ? type.includes("null") : !type.includes("number") || isNumber(cell));

// What the model made no use of, or had not seen.
const notes = (texts) =>
  texts.length > 0 &&
  element(
    "ul",
    { class: "problems" },
    texts.map((text) => element("li", {}, text)),
  );

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
