// What each column of a table is for: proposed from its name and its values, with the reason, and changed by a person.

import { isMissing, isNumber } from "./csv.js";
import { count, list, plural } from "./words.js";

const TARGET_NAME =
  /^(class|classes|target|label|labels|y|species|diagnosis|outcome|category|type|kind|cultivar|digit)$/i;
const ID_NAME = /^(id|index|row|nr|no|number|key|uuid|name|unnamed.*|.*[ _-]id)$/i;
const MOST_CLASSES = 50;
const MOST_CATEGORIES = 20; // of a column; the service puts all others into one
const MANY_VALUES = 20; // as many as make people or places rather than kinds
export const ROLES = {
  numeric: "Number",
  categorical: "Category",
  target: "Class",
  id: "Row name",
  group: "Group",
  ignore: "Leave out",
};

// One { name, role, why, isNumeric, nMissing, values: Map of value to count, example } a column.
export function proposeRoles({ names, rows }) {
  const columns = names.map((name, index) => describe(name, rows, index));
  const target = findTarget(columns);
  for (const column of columns) {
    [column.role, column.why] = column === target ? ["target", whyTarget(column)] : propose(column, rows.length);
  }
  return columns;
}

function describe(name, rows, index) {
  const values = new Map();
  let nMissing = 0,
    isNumeric = true;
  for (const row of rows) {
    const cell = row[index];
    if (isMissing(cell)) {
      nMissing += 1;
      continue;
    }
    isNumeric &&= isNumber(cell);
    values.set(cell, (values.get(cell) ?? 0) + 1);
  }
  return {
    name,
    index,
    values,
    nMissing,
    isNumeric: isNumeric && values.size > 0,
    example: [...values.keys()].slice(0, 3),
  };
}

function findTarget(columns) {
  const possible = columns.filter(({ values }) => values.size >= 2 && values.size <= MOST_CLASSES);
  const repeated = possible.filter(({ values }) => Math.max(...values.values()) > 1);
  const isWhole = ({ isNumeric, values }) => isNumeric && values.size <= 20 && areWhole(values);
  return (
    repeated.find(({ name }) => TARGET_NAME.test(name)) ??
    repeated.findLast(({ isNumeric }) => !isNumeric) ??
    repeated.findLast(isWhole)
  );
}

function whyTarget({ name, values }) {
  const different = `${plural(values.size, "different value")}: ${list([...values.keys()])}`;
  return TARGET_NAME.test(name) ? `Named like a class; ${different}` : `Repeats few values; ${different}`;
}

function propose({ name, isNumeric, values, nMissing }, nRows) {
  const nPresent = nRows - nMissing;
  const allDiffer = values.size === nPresent;
  const different = plural(values.size, "different value");
  if (values.size === 0) return ["ignore", "Empty"];
  if (values.size === 1) {
    return ["ignore", `Always ${[...values.keys()][0]}: a column that never varies cannot tell classes apart`];
  }
  if (allDiffer && (ID_NAME.test(name) || isSequence(values, isNumeric))) {
    return ["id", "Different in every row: it names rows"];
  }
  if (ID_NAME.test(name) && areWhole(values) && values.size >= MANY_VALUES) {
    return ["group", `Named like an id, and its ${different} repeat: rows of one belong together`];
  }
  if (isNumeric) return ["numeric", nMissing ? `Numbers; ${count(nMissing)} missing` : "Numbers"];
  if (allDiffer) return ["id", "Text that differs in every row: it names rows"];
  if (values.size > MANY_VALUES && values.size > nPresent / 2) {
    return ["ignore", `Text with ${different}: too many to be categories`];
  }
  return ["categorical", `Text with ${different}: each becomes a yes or no`];
}

const areWhole = (values) => [...values.keys()].every((value) => /^-?\d+$/.test(value));

function isSequence(values, isNumeric) {
  const numbers = [...values.keys()].map(Number);
  return (
    isNumeric && numbers.length > 2 && numbers.every((value, index) => index === 0 || value === numbers[index - 1] + 1)
  );
}

export const mayBe = (column, role) => role !== "numeric" || column.isNumeric;

// What would be sent, and what stands against it: { table, classes, problems }. The table is { target, features, roles,
// rows (cells, empty where missing), labels, id, group }, the last two { name, values } or null.
export function prepare({ rows: all }, columns, droppedClasses = new Set()) {
  const features = columns.filter(({ role }) => role === "numeric" || role === "categorical");
  const target = columns.find(({ role }) => role === "target");
  const isLabeled = (row) => !isMissing(row[target.index]) && !droppedClasses.has(row[target.index]);
  const rows = target ? all.filter(isLabeled) : [];
  const cells = ({ index }) => rows.map((row) => (isMissing(row[index]) ? "" : row[index]));
  const named = (role) => {
    const column = columns.find((each) => each.role === role);
    return column ? { name: column.name, values: cells(column) } : null;
  };
  const labels = target ? cells(target) : [];
  const classes = new Map();
  for (const label of labels) classes.set(label, (classes.get(label) ?? 0) + 1);
  const table = {
    target: target?.name,
    features: features.map(({ name }) => name),
    roles: Object.fromEntries(features.filter(needsRole).map(({ name, role }) => [name, role])),
    rows: rows.map((row) => features.map(({ index }) => (isMissing(row[index]) ? "" : row[index]))),
    labels,
    id: named("id"),
    group: named("group"),
  };
  return { table, classes, problems: [...findProblems({ all, target, features, rows, classes })] };
}

// The service takes numbers for numbers by itself, unless they are whole: those could be ids.
const needsRole = ({ role, values }) => role !== "numeric" || areWhole(values);

function* findProblems({ all, target, features, rows, classes }) {
  if (!target) {
    const text = "No column says which class a row belongs to.";
    yield { blocks: true, text, remedy: "Choose “Class” for one of the columns." };
    return;
  }
  if (!features.length) {
    const remedy = "Choose “Number” or “Category” for at least one column.";
    yield { blocks: true, text: "No column is chosen to tell the classes apart.", remedy };
    return;
  }
  const unlabeled = all.filter((row) => isMissing(row[target.index])).length;
  if (unlabeled) yield { text: `${plural(unlabeled, "row has", "rows have")} no class and will be left out.` };
  yield* findGaps(features, rows);
  if (classes.size === 1) {
    const text = `All rows are of one class, ${[...classes.keys()][0]}.`;
    yield { blocks: true, text, remedy: "Two classes or more are needed to tell them apart." };
    return;
  }
  if (target.isNumeric && classes.size > MANY_VALUES) {
    const values = `${target.name} has ${count(classes.size)} different values`;
    const remedy = "Choose another column as “Class”, or group its values first.";
    yield { text: `${values}: it looks like a measurement, not like a class.`, remedy };
  }
  const single = [...classes].filter(([, size]) => size < 2).map(([label]) => label);
  if (single.length) {
    const text = `${plural(single.length, "class has", "classes have")} only one row: ${list(single)}.`;
    const action = {
      text: single.length === 1 ? "Leave this class out" : "Leave these classes out",
      dropClasses: single,
    };
    yield { blocks: true, text, remedy: "A class needs at least two rows.", action };
  }
  const width = features.reduce(
    (sum, { role, values }) => sum + (role === "numeric" ? 1 : Math.min(values.size, MOST_CATEGORIES)),
    0,
  );
  if (width > rows.length / 10) {
    const text = `${plural(width, "number")} a row for ${plural(rows.length, "row")} is a lot`;
    const remedy = "Trust the held-out score more than the picture, or leave out columns.";
    yield { text: `${text}: even pure noise can look separated here.`, remedy };
  }
}

function* findGaps(features, rows) {
  const gaps = features.filter(({ nMissing }) => nMissing > 0).sort((a, b) => b.nMissing - a.nMissing);
  const nRows = rows.filter((row) => gaps.some(({ index }) => isMissing(row[index]))).length;
  if (!nRows) return;
  const [worst] = gaps;
  yield {
    text: `${plural(nRows, "row misses", "rows miss")} values in ${list(
      gaps.map(({ name }) => name),
      3,
    )}.`,
    remedy: "Numbers take the column's median there, categories one of their own; that a value is missing counts too.",
    action: { text: `Leave out ${worst.name} (${count(worst.nMissing)} missing)`, leaveOut: worst },
  };
}
