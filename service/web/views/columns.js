// A table before the upload, as the service would read it: roles of columns, problems, and the options of the fit.

import { post, request } from "../api.js";
import { colorOf } from "../charts/palette.js";
import { findFile, keepFile } from "../chosen_file.js";
import { button, element, replace } from "../element.js";
import { explain, loading, problemList, sayProblem } from "../states.js";
import { read, settle, upload, withRole } from "../tables.js";
import { count, list, percent, plural } from "../words.js";
import { fitOptions } from "./options.js";

const SHOWN_CLASSES = 12;
const MANY = 20; // from so many columns on there is a search field
const LEVELS = ["error", "question", "warning"]; // in the order of display
const ROLES = {
  numeric: "Number",
  categorical: "Category",
  time: "Time",
  target: "Class",
  id: "Row name",
  group: "Group",
  weight: "Weight",
  info: "Only shown",
  ignore: "Leave out",
};
const OFFERED = ["numeric", "categorical", "target", "id", "group", "weight", "info", "ignore"];
const FIXES = {
  columns: (roles) => Object.entries(roles).map(([name, role]) => (role === "ignore" ? `Leave out ${name}` : `Use ${name} as ${(ROLES[role] ?? role).toLowerCase()}`)).join(", "),
  target: (name) => `Classes by ${name}`,
  missing_values: (text) => `“${text}” means missing`,
  missing: () => "Fill in what is missing",
  drop_missing: () => "Leave these rows out",
  unlabeled: () => "Leave these rows out",
  rare_classes: (what) => (what === "drop" ? "Leave these classes out" : "Make them one class"),
  decimal: (mark) => `Decimals after a ${mark === "," ? "comma" : "point"}`,
  delimiter: (mark) => `Columns separated by ${DELIMITERS[mark] ?? mark}`,
  day_first: (isFirst) => (isFirst ? "The day comes first" : "The month comes first"),
  encoding: (name) => `Read as ${ENCODINGS[name] ?? name}`,
};
const ENCODINGS = { cp1252: "western European text", cp1250: "central European text", cp1251: "Cyrillic text" };
const DELIMITERS = { "\t": "tabs", " ": "spaces", ";": "semicolons", "|": "vertical bars", ",": "commas" };

export async function newFileView(context) {
  const file = await findFile();
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
  await columnsView(context, file, keepFile);
}

export async function newSampleView(context, name) {
  replace(context.place, loading(`Getting ${name}`));
  const body = await (await request(`v1/samples/${name}`, { signal: context.signal })).blob();
  await columnsView(context, { name, body, type: "text/csv", settings: {} });
}

// `keep` stores the settings of the file.
async function columnsView({ place, signal, setTitle, leave }, file, keep = () => {}) {
  setTitle(file.name);
  replace(place, loading(`Reading ${file.name}`));
  const options = await fitOptions(file.wish);
  const lead = element("p", { class: "lead" });
  const body = element("tbody");
  const summary = element("section", { class: "summary", "aria-live": "polite" });
  const trouble = element("div", { role: "alert" });
  const go = button("Fit", () => submit(), "primary large");
  const obstacle = element("p", { class: "hint", role: "status" });
  let reading = await read(file, signal);

  const change = async (settings) => {
    const focused = document.activeElement?.getAttribute("aria-label");
    go.disabled = true;
    replace(trouble);
    try {
      reading = await read({ ...file, settings }, signal);
      file.settings = settings;
      await keep(file);
    } catch (error) {
      if (signal.aborted) throw error;
      complain(error);
    }
    show();
    if (focused) body.querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
  };
  const search = element("input", { type: "search", "aria-label": "Find a column", placeholder: "Find a column", oninput: () => find() });
  search.hidden = reading.columns.length <= MANY;
  const find = () => {
    const word = search.value.trim().toLowerCase();
    for (const row of body.children) row.hidden = !row.cells[0].textContent.toLowerCase().includes(word);
  };
  // Rows of unchanged columns are not rebuilt, because there may be thousands.
  const known = new Map();
  const proposed = new Map(reading.columns.map(({ name, role }) => [name, role]));
  const rowOf = (column) => {
    const text = JSON.stringify(column);
    const isSame = known.get(column.name)?.text === text;
    if (!isSame) known.set(column.name, { text, row: columnRow(column, proposed.get(column.name), (name, role) => change(withRole(file.settings, name, role))) });
    const { row } = known.get(column.name);
    row.querySelector("select").value = column.role; // the choice may have been refused
    return row;
  };
  const show = () => {
    const settings = file.settings;
    const isBroken = reading.problems.some(({ level }) => level === "error");
    go.disabled = isBroken || !reading.target;
    obstacle.textContent = isBroken ? "Solve what is marked in red first." : reading.target ? "" : "Choose a column of classes first.";
    replace(lead, describe(reading));
    replace(body, reading.columns.map(rowOf));
    find();
    const fix = (each) => change(settle(settings, each));
    const retarget = (name) => change(withRole(settings, name, "target"));
    replace(summary, ...summarize(reading, fix, retarget));
  };
  const complain = (error) => {
    const [title, detail] = explain(error);
    replace(trouble, element("p", { class: "trouble" }, element("strong", {}, title), ` ${detail}`));
  };
  const submit = async () => {
    go.disabled = true;
    go.textContent = "Sending …";
    replace(trouble);
    try {
      const wish = options.read();
      await keep({ ...file, wish });
      const settings = { ...file.settings, target: reading.target.name };
      const dataset = await upload({ ...file, settings }, signal);
      const fit = await post("v1/fits", { dataset_id: dataset.id, name: file.name.slice(0, 200), ...wish }, { signal });
      leave(`/fits/${fit.id}`);
    } catch (error) {
      if (signal.aborted) throw error;
      complain(error);
      go.disabled = false;
      go.textContent = "Fit";
    }
  };

  replace(
    place,
    element("h1", {}, file.name),
    lead,
    element(
      "div",
      { class: "split" },
      element(
        "section",
        { class: "columns" },
        element("div", { class: "row" }, element("h2", { id: "columns-title" }, "Columns"), search),
        element(
          "div",
          { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "columns-title" },
          element("table", {}, columnHead(), body),
        ),
      ),
      element(
        "div",
        { class: "side" },
        summary,
        element("section", {}, element("h2", {}, "Picture"), options.dimensions),
        element("div", {}, go, obstacle),
        trouble,
        options.advanced,
      ),
    ),
  );
  show();
}

function describe({ n_rows: rows, columns, dialect, is_complete: isComplete, n_unlabeled: unlabeled }) {
  const { delimiter, decimal, encoding } = dialect ?? {};
  return [
    `${plural(rows, "row")}${isComplete ? "" : " at the beginning"}, ${plural(columns.length, "column")}.`,
    delimiter && delimiter !== "," && `Columns are separated by ${DELIMITERS[delimiter] ?? delimiter}.`,
    decimal === "," && "Numbers have decimal commas.",
    encoding && !/^utf-8/i.test(encoding) && `Text is read as ${encoding}.`,
    unlabeled > 0 && `${plural(unlabeled, "row has", "rows have")} no class.`,
  ]
    .filter(Boolean)
    .join(" ");
}

const columnHead = () =>
  element(
    "thead",
    {},
    element(
      "tr",
      {},
      ["Column", "Used as", "Why", "Values"].map((title) => element("th", { scope: "col" }, title)),
    ),
  );

// `proposed` is the inferred role.
function columnRow({ name, role, reason, is_given: isGiven, missing_share: missing, examples }, proposed, onRole) {
  const offered = [...new Set([...OFFERED, proposed, role])];
  const select = element(
    "select",
    { "aria-label": `Use of ${name}`, onchange: () => onRole(name, select.value) },
    offered.map((each) => element("option", { value: each, selected: each === role }, ROLES[each] ?? each)),
  );
  return element(
    "tr",
    { "data-role": role },
    element("th", { scope: "row" }, name),
    element("td", {}, select),
    element("td", { class: "why" }, isGiven ? "Chosen" : reason, missing > 0 && ` (${percent(missing)} missing)`),
    element("td", { class: "values" }, examples.join(", ")),
  );
}

function summarize({ classes, n_rows: rows, columns, target, is_target_given: isGiven, other_targets: others, problems }, onFix, onTarget) {
  const most = Math.max(...classes.map(({ n_rows: size }) => size), 1);
  const features = columns.filter(({ role }) => ["numeric", "categorical", "time"].includes(role)).length;
  const isAboutTarget = ({ fixes }) => fixes.some(({ parameter }) => parameter === "target");
  const told = LEVELS.flatMap((level) => problems.filter((problem) => problem.level === level && !(level === "question" && isAboutTarget(problem))));
  const choice = (name) => button(name, () => onTarget(name), "link");
  return [
    element("h2", {}, "Classes"),
    target && element("p", {}, `${plural(rows, "row")}, ${plural(features, "column")}, classes by ${target.name}.`),
    target &&
      !isGiven &&
      others.length > 0 &&
      element("p", { class: "hint choices" }, "This is a guess. Other candidates:", others.slice(0, 4).map(({ name }) => choice(name))),
    element("ul", { class: "classes" }, classes.slice(0, SHOWN_CLASSES).map((each, code) => classBar(each, code, most))),
    classes.length > SHOWN_CLASSES &&
      element("p", { class: "hint" }, `and ${list(classes.slice(SHOWN_CLASSES).map(({ label }) => String(label)))}`),
    told.length > 0 && problemList(told.map((problem) => asItem(problem, onFix))),
  ];
}

const classBar = ({ label, n_rows: size }, code, most) =>
  element(
    "li",
    {},
    element("span", { class: "label", title: String(label) }, String(label)),
    element(
      "span",
      { class: "track" },
      element("span", { class: "bar", style: { width: `${(100 * size) / most}%`, background: colorOf(code) } }),
    ),
    element("span", { class: "number" }, count(size)),
  );

// A problem with its fixes as buttons.
function asItem(problem, onFix) {
  const [text, remedy] = sayProblem(problem);
  const action = problem.fixes.map((fix) => button(fixTitle(fix), () => onFix(fix)));
  return { blocks: problem.level === "error", text, remedy, action: action.length > 0 && action };
}

// The label of the button for a fix.
function fixTitle({ parameter, value }) {
  return FIXES[parameter]?.(value) ?? `${parameter.replaceAll("_", " ")}: ${value}`;
}
