// Text that people read or programs take: CSV, numbers, names of axes, settings of a table.

import assert from "node:assert/strict";
import { test } from "node:test";

import { asCsv, harmless } from "../../../service/web/csv_text.js";
import { axisName, columnsOf, loadingsOn } from "../../../service/web/picture/axis_names.js";
import { settle, withRole } from "../../../service/web/tables.js";
import { duration, list, percent, plural, score } from "../../../service/web/words.js";

test("cells of CSV are quoted where they have to be", () => {
  const lines = [
    ["a", 'says "no"'],
    ["1,5", "two\nlines"],
    [null, 0],
  ];
  assert.equal(asCsv(lines), 'a,"says ""no"""\r\n"1,5","two\nlines"\r\n,0');
});

test("text that a spreadsheet would compute is made text; numbers stay", () => {
  assert.deepEqual(["=1+1", "@a", "plain", -2].map(harmless), ["'=1+1", "'@a", "plain", -2]);
});

test("numbers are written as people read them", () => {
  assert.deepEqual([0.9731, 1, 0].map(score), [".973", "1.00", ".000"]);
  assert.deepEqual([0, 0.004, 0.25].map(percent), ["0 %", "0.4 %", "25 %"]);
  assert.equal(plural(1, "row"), "1 row");
  assert.equal(plural(1234, "class", "classes"), "1,234 classes");
  assert.equal(list(["a", "b", "c", "d", "e", "f"]), "a, b, c, d and 2 more");
  assert.deepEqual([1, 45, 600, 7200].map(duration), ["a second", "45 seconds", "10 minutes", "2 hours"]);
});

test("an axis is named by its strongest columns, with their signs", () => {
  const columns = ["length", "depth", "mass"].map((name, index) => ({ name, features: [index] }));
  assert.equal(axisName([3, -2, 0.1], columns), "length − depth");
  assert.equal(axisName([-3, 2, 1], columns), "− length + depth …");
  assert.equal(axisName([3, -3], [{ name: "island", features: [0, 1] }]), "island", "several features have no sign");
});

test("loadings of a part of the features stand at their places", () => {
  const card = { loadings: [[0.5], [-2]], feature_positions: [3, 1] };
  assert.deepEqual([...loadingsOn(0, { card, projection: [[0], [0], [0], [0]] })], [0, -2, 0, 0.5]);
  assert.deepEqual(columnsOf({ card: {}, projection: [[1], [2]] }).map(({ name }) => name), ["x0", "x1"]);
});

test("settling a problem keeps the other settings", () => {
  const settings = { decimal: ",", columns: { age: "numeric" }, missing_values: ["-"] };
  assert.deepEqual(settle(settings, { parameter: "columns", value: { zip: "categorical" } }).columns, {
    age: "numeric",
    zip: "categorical",
  });
  assert.deepEqual(settle(settings, { parameter: "missing_values", value: "?" }).missing_values, ["-", "?"]);
  assert.equal(settle(settings, { parameter: "decimal", value: "." }).decimal, ".");
  assert.equal(settings.decimal, ",");
});

test("there is one target, and it has no other role", () => {
  const settings = { target: "a", columns: { b: "ignore" } };
  assert.deepEqual(withRole(settings, "b", "target"), { target: "b", columns: {} });
  assert.deepEqual(withRole(settings, "a", "numeric"), { target: undefined, columns: { a: "numeric", b: "ignore" } });
});
