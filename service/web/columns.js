// What each column of a table is for: proposed from its name and its values, with the reason, and changed by a person.

import { isMissing, isNumber } from "./csv.js";
import { count, list, plural } from "./words.js";

const TARGET_NAME =
  /^(class|classes|target|label|labels|y|species|diagnosis|outcome|category|type|kind|cultivar|digit)$/i;
const ID_NAME = /^(id|index|row|nr|no|number|key|uuid|name|unnamed.*|.*[ _-]id)$/i;
const MOST_CLASSES = 50;
export const ROLES = { numeric: "Number", target: "Class", id: "Row name", ignore: "Leave out" };

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
  const isWhole = ({ isNumeric, values }) =>
    isNumeric && values.size <= 20 && [...values.keys()].every((value) => /^-?\d+$/.test(value));
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
  const allDifferent = values.size === nRows - nMissing;
  if (values.size === 0) return ["ignore", "Empty"];
  if (values.size === 1)
    return ["ignore", `Always ${[...values.keys()][0]}: a column that never varies cannot tell classes apart`];
  if (allDifferent && (ID_NAME.test(name) || isSequence(values, isNumeric)))
    return ["id", "Different in every row: it names rows"];
  if (isNumeric) return ["numeric", nMissing ? `Numbers; ${count(nMissing)} missing` : "Numbers"];
  if (allDifferent) return ["id", "Text that differs in every row: it names rows"];
  return ["ignore", `Text with ${plural(values.size, "different value")}: a projection is made of numbers`];
}

function isSequence(values, isNumeric) {
  const numbers = [...values.keys()].map(Number);
  return (
    isNumeric && numbers.length > 2 && numbers.every((value, index) => index === 0 || value === numbers[index - 1] + 1)
  );
}

export const mayBe = (column, role) => role !== "numeric" || column.isNumeric;

// What would be sent, and what stands against it: { features, rows, labels, rowNames, classes, problems }.
export function prepare(table, columns, droppedClasses = new Set()) {
  const features = columns.filter(({ role }) => role === "numeric");
  const target = columns.find(({ role }) => role === "target");
  const names = columns.find(({ role }) => role === "id");
  const isComplete = (row) => features.every(({ index }) => !isMissing(row[index]));
  const labeled = target
    ? table.rows.filter((row) => !isMissing(row[target.index]) && !droppedClasses.has(row[target.index]))
    : [];
  const complete = labeled.filter(isComplete);
  const classes = new Map();
  for (const row of complete) classes.set(row[target.index], (classes.get(row[target.index]) ?? 0) + 1);
  return {
    target,
    classes,
    features: features.map(({ name }) => name),
    rows: complete.map((row) => features.map(({ index }) => row[index]).join(",")),
    labels: complete.map((row) => row[target.index]),
    rowNames: names ? complete.map((row) => row[names.index]) : null,
    problems: [...findProblems({ table, target, features, labeled, complete, classes })],
  };
}

function* findProblems({ table, target, features, labeled, complete, classes }) {
  if (!target) {
    yield {
      blocks: true,
      text: "No column says which class a row belongs to.",
      remedy: "Choose “Class” for one of the columns.",
    };
    return;
  }
  if (!features.length) {
    yield { blocks: true, text: "No column of numbers is chosen.", remedy: "Choose “Number” for at least one column." };
    return;
  }
  const unlabeled = table.rows.filter((row) => isMissing(row[target.index])).length;
  if (unlabeled) yield { text: `${plural(unlabeled, "row has", "rows have")} no class and will be left out.` };
  const gaps = features.filter(({ nMissing }) => nMissing > 0).sort((a, b) => b.nMissing - a.nMissing);
  if (complete.length < labeled.length) {
    const lost = labeled.length - complete.length;
    yield {
      blocks: complete.length === 0,
      text: `${plural(lost, "row misses", "rows miss")} values in ${list(
        gaps.map(({ name }) => name),
        3,
      )} and will be left out.`,
      remedy: "To keep more rows, leave out the columns with the most gaps.",
      action: { text: `Leave out ${gaps[0].name} (${count(gaps[0].nMissing)} missing)`, leaveOut: gaps[0] },
    };
    if (!complete.length) return;
  }
  if (classes.size === 1) {
    const [only] = classes.keys();
    yield {
      blocks: true,
      text: `All rows are of one class, ${only}.`,
      remedy: "Two classes or more are needed to tell them apart.",
    };
    return;
  }
  if (target.isNumeric && classes.size > 20) {
    const text = `${target.name} has ${count(classes.size)} different values: it looks like a measurement, not like a class.`;
    yield { text, remedy: "Choose another column as “Class”, or group its values first." };
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
  if (features.length > complete.length / 10) {
    yield {
      text: `${plural(features.length, "column")} for ${plural(complete.length, "row")} is a lot: even pure noise can look separated here.`,
      remedy: "Trust the held-out score more than the picture, or leave out columns.",
    };
  }
}
