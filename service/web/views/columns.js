// A table before it is sent: what each column is for, what stands against a fit, and the fit's options.

import { post, request } from "../api.js";
import { ROLES, mayBe, prepare, proposeRoles } from "../columns.js";
import { colorOf } from "../charts/palette.js";
import { parseTable } from "../csv.js";
import { button, element, replace } from "../element.js";
import { findPending, keepTable } from "../local_tables.js";
import { explain, loading, problemList } from "../states.js";
import { upload } from "../upload.js";
import { count, list, plural } from "../words.js";
import { fitOptions } from "./options.js";

const SHOWN_CLASSES = 12;
const SINGLE = new Set(["target", "id", "group"]); // roles of one column at most

export async function newFileView(context) {
  const file = await findPending();
  if (!file) {
    replace(
      context.place,
      element("h1", {}, "No table is chosen"),
      element(
        "p",
        {},
        "This address shows the file that was last chosen in this browser. ",
        element("a", { href: "#/" }, "Choose one"),
      ),
    );
    return;
  }
  await columnsView(context, file.name, file.text);
}

export async function newSampleView(context, name) {
  replace(context.place, loading(`Getting ${name}`));
  const response = await request(`v1/samples/${name}`, { signal: context.signal });
  await columnsView(context, name, await response.text());
}

async function columnsView({ place, signal, setTitle, leave }, name, text) {
  setTitle(name);
  const table = parseTable(text);
  const columns = proposeRoles(table);
  const dropped = new Set();
  const summary = element("section", { class: "summary", "aria-live": "polite" });
  const options = await fitOptions();
  const trouble = element("div", { role: "alert" });
  const go = button("Fit", () => submit(), "primary large");
  let prepared;

  const body = element(
    "tbody",
    {},
    columns.map((column) => columnRow(column, () => update(column))),
  );
  const update = (changed) => {
    for (const other of columns.filter((column) => column !== changed && column.role === changed?.role)) {
      if (SINGLE.has(other.role)) other.role = other.isNumeric ? "numeric" : "ignore";
    }
    if (changed?.role === "target") dropped.clear();
    body.querySelectorAll("select").forEach((select, index) => (select.value = columns[index].role));
    body.querySelectorAll("tr").forEach((row, index) => (row.dataset.role = columns[index].role));
    prepared = prepare(table, columns, dropped);
    go.disabled = prepared.problems.some(({ blocks }) => blocks);
    replace(summary, ...summarize(prepared, withButtons(prepared.problems)));
  };
  const withButtons = (problems) =>
    problems.map((problem) => ({
      ...problem,
      action:
        problem.action &&
        button(problem.action.text, () => {
          for (const label of problem.action.dropClasses ?? []) dropped.add(label);
          if (problem.action.leaveOut) problem.action.leaveOut.role = "ignore";
          update();
        }),
    }));

  const submit = async () => {
    go.disabled = true;
    go.textContent = "Sending …";
    replace(trouble);
    try {
      leave(`/fits/${(await send(name, prepared.table, options.read(), signal)).id}`);
    } catch (error) {
      if (signal.aborted) throw error;
      const [title, detail] = explain(error);
      replace(trouble, element("p", { class: "trouble" }, element("strong", {}, title), ` ${detail}`));
      go.disabled = false;
      go.textContent = "Fit";
    }
  };

  replace(
    place,
    element("h1", {}, name),
    element(
      "p",
      { class: "lead" },
      `${plural(table.rows.length, "row")}, ${plural(columns.length, "column")}. ${table.notes.join(" ")}`,
    ),
    element(
      "div",
      { class: "split" },
      element(
        "section",
        { class: "columns" },
        element("h2", { id: "columns-title" }, "Columns"),
        element(
          "div",
          { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "columns-title" },
          element(
            "table",
            {},
            element(
              "thead",
              {},
              element(
                "tr",
                {},
                ["Column", "Used as", "Why", "Values"].map((title) => element("th", { scope: "col" }, title)),
              ),
            ),
            body,
          ),
        ),
      ),
      element(
        "div",
        { class: "side" },
        summary,
        element("section", {}, element("h2", {}, "Picture"), options.dimensions),
        go,
        trouble,
        options.advanced,
      ),
    ),
  );
  update();
}

function columnRow(column, onChange) {
  const select = element(
    "select",
    { "aria-label": `Use of ${column.name}` },
    Object.entries(ROLES)
      .filter(([role]) => mayBe(column, role))
      .map(([role, title]) => element("option", { value: role }, title)),
  );
  select.addEventListener("change", () => {
    column.role = select.value;
    onChange();
  });
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, column.name),
    element("td", {}, select),
    element("td", { class: "why" }, column.why),
    element("td", { class: "values" }, column.example.join(", ")),
  );
}

function summarize({ classes, table: { features, rows, target } }, problems) {
  const most = Math.max(...classes.values(), 1);
  const shown = [...classes].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
  return [
    element("h2", {}, "Classes"),
    target &&
      element("p", {}, `${plural(rows.length, "row")}, ${plural(features.length, "column")}, classes by ${target}.`),
    element(
      "ul",
      { class: "classes" },
      shown
        .slice(0, SHOWN_CLASSES)
        .map(([label, size], code) =>
          element(
            "li",
            {},
            element("span", { class: "label" }, label),
            element(
              "span",
              { class: "track" },
              element("span", { class: "bar", style: { width: `${(100 * size) / most}%`, background: colorOf(code) } }),
            ),
            element("span", { class: "number" }, count(size)),
          ),
        ),
    ),
    shown.length > SHOWN_CLASSES &&
      element("p", { class: "hint" }, `and ${list(shown.slice(SHOWN_CLASSES).map(([label]) => label))}`),
    problems.length > 0 && problemList(problems),
  ];
}

async function send(name, table, wish, signal) {
  const dataset = await upload(table, name, { signal });
  await keepTable(dataset.id, table);
  return post("v1/fits", { dataset_id: dataset.id, name: name.slice(0, 200), ...wish }, { signal });
}
