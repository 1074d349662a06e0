// Try it: pasted or dropped rows, their places in the picture and their predicted classes.

import { postCsv } from "../api.js";
import { colorOf } from "../charts/palette.js";
import { button, element, replace } from "../element.js";
import { MEANINGS } from "../meanings.js";
import { explain } from "../states.js";
import { list, percent } from "../words.js";

const SHOWN = 200;
const DELIMITERS = [",", ";", "\t"];

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
      const csv = withHeader(text.value, columns);
      const path = `v1/models/${model.id}`;
      const [{ Z }, { probabilities, log_density: logDensity, warnings }] = await Promise.all([
        postCsv(`${path}/transform`, csv, { signal }),
        postCsv(`${path}/predict_proba?log_density=true`, csv, { signal }),
      ]);
      const judged = Z.map((z, index) => {
        const code = probabilities[index].indexOf(Math.max(...probabilities[index]));
        const probability = probabilities[index][code];
        return { title: `New row ${index + 1}`, z, code, probability, isFar: logDensity[index] === null };
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
    text.value = await dropped.text();
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

// Pasted rows without a header are read in the order of the columns; everything else is parsed by the service.
function withHeader(text, columns) {
  const [first] = text.trim().split(/\r?\n/);
  const delimiter = DELIMITERS.reduce((best, each) => (first.split(each).length > first.split(best).length ? each : best));
  const cells = first.split(delimiter).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"));
  if (columns.some((name) => cells.includes(name))) return text;
  const quoted = columns.map((name) => `"${name.replaceAll('"', '""')}"`);
  return [quoted.join(delimiter), text.trim()].join("\n");
}

// Warnings about input that the model ignored, and about unseen categories.
const notes = (texts) =>
  texts.length > 0 &&
  element(
    "ul",
    { class: "problems" },
    texts.map((text) => element("li", {}, text)),
  );

function results(judged, { classes }) {
  const row = ({ title, code, probability, isFar, z }) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, title),
      element("td", {}, element("span", { class: "dot", style: { background: colorOf(code) } }), String(classes[code])),
      element("td", { class: "number", title: MEANINGS.probability }, percent(probability)),
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
