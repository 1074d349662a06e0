// Numbers behind the picture: arrays out of npz, limits of axes, principal directions, the live separation.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { readNpz } from "../../../service/web/npz.js";
import { limitsOf } from "../../../service/web/picture/limits.js";
import { leadingPlane } from "../../../service/web/picture/principal_axes.js";
import { kernelWidth, separationOf } from "../../../service/web/picture/separation.js";

const close = (found, expected, tolerance) => assert.ok(Math.abs(found - expected) <= tolerance, `${found}, not ${expected}`);

// Numbers between -1 and 1 that are the same in every run.
const scattered = (index) => 2 * ((Math.sin(index * 12.9898) * 43758.5453) % 1) - (Math.sin(index * 12.9898) < 0 ? -1 : 1);

test("arrays of numbers are read out of npz, text is left out", () => {
  const file = readFileSync(new URL("../../../arrays.npz", import.meta.url));
  const arrays = readNpz(file.buffer.slice(file.byteOffset, file.byteOffset + file.length));
  assert.deepEqual(Object.keys(arrays).sort(), ["Z", "codes"]);
  assert.deepEqual(arrays.Z.shape, [3, 2]);
  assert.deepEqual([...arrays.Z.data], [0, 0.5, 1, 1.5, 2, 2.5]);
  assert.deepEqual([...arrays.codes.data], [0n, 1n, 1n]);
});

test("a row far away does not press the others together, a class of its own is seen", () => {
  const near = Array.from({ length: 100 }, (_, index) => index / 100);
  const codes = near.map(() => 0);
  const [low, high] = limitsOf([...near, 1000], [...codes, 0]);
  assert.ok(low < 0 && high > 0.99 && high < 3);
  const far = [5, 5.1, 5.2, 5.3, 5.4];
  assert.ok(limitsOf([...near, ...far], [...codes, ...far.map(() => 1)])[1] > 5.4);
  assert.deepEqual(limitsOf([2, 2], [0, 0]), [1, 3], "values that do not vary have room");
});

test("the leading plane is that of the columns that vary most", () => {
  const [n, d] = [300, 6];
  const sizes = [0.1, 5, 0.1, 0.2, 3, 0.1];
  const X = Float64Array.from({ length: n * d }, (_, at) => sizes[at % d] * scattered(at + 1));
  const like = [1, 4].map((place) => sizes.map((_, j) => (j === place ? 1 : 0)));
  const [first, second] = leadingPlane(X, d, like);
  close(Math.abs(first[1]), 1, 0.01);
  close(Math.abs(second[4]), 1, 0.01);
  close(first.reduce((sum, value, j) => sum + value * second[j], 0), 0, 1e-9);
});

test("the separation is none for equal classes, and grows as they part", () => {
  const n = 400;
  const codes = Array.from({ length: n }, (_, row) => row % 2);
  const widths = [kernelWidth(n / 2, 1), kernelWidth(n / 2, 1)];
  const at = (distance) =>
    separationOf(
      codes.flatMap((code, row) => [scattered(Math.floor(row / 2) + 1) + code * distance, scattered(Math.floor(row / 2) + 5000)]),
      codes,
      widths,
    );
  close(at(0), 0, 1e-6);
  const found = [0.5, 1, 2].map(at);
  assert.ok(found[0] > 0.01 && found[1] > 2 * found[0] && found[2] > 2 * found[1], `${found}`);
});
