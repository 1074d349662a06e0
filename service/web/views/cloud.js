// The points of a picture: training rows, held-out rows, new rows.

import { postCsv } from "../api.js";
import { element } from "../element.js";
import { featuresAsCsv } from "../upload.js";
import { short } from "../words.js";

export const MOST_DRAWN = 50_000;
const SHOWN_VALUES = 8;

// { positions, codes, kinds, describe }. With the table at hand every row is drawn and can be named; otherwise the
// rows that the service draws.
export async function trainingCloud(model, plot, table, signal) {
  const classes = model.classes.map(String);
  if (table && table.rows.length <= MOST_DRAWN) {
    const { Z } = await postCsv(`v1/models/${model.id}/transform`, featuresAsCsv(table), { signal });
    const points = Z.map((z, row) => ({ z, row, code: classes.indexOf(table.labels[row]), kind: "seen" }));
    return { points: [...points, ...heldOut(plot)], total: Z.length };
  }
  return { points: [...drawn(plot), ...heldOut(plot)], total: model.card.data?.n_rows ?? null };
}

// The service draws pairs of components, the same rows in the same order in each.
function drawn(plot) {
  return pointsOf(plot, (series) => series.points, "seen");
}

function heldOut(plot) {
  return pointsOf(plot, (series) => series.held_out ?? [], "held out");
}

function pointsOf(plot, pick, kind) {
  const [first, second] = plot.panels; // z0 and z1, z0 and z2
  return first.series.flatMap((series, code) =>
    pick(series).map(([x, y], index) => {
      const z = plot.n_components < 3 ? [x, y] : [x, y, pick(second.series[code])[index][1]];
      return { z, code, kind };
    }),
  );
}

// What a stage draws: the components `axes` of the points.
export function toCloud(points, axes, model, columns, table) {
  const positions = new Float32Array(3 * points.length);
  points.forEach(({ z }, index) => axes.forEach((axis, at) => (positions[3 * index + at] = z[axis])));
  return {
    positions,
    codes: points.map(({ code }) => code),
    kinds: points.map(({ kind }) => kind),
    describe: (index) => describe(points[index], model, columns, table),
  };
}

function describe({ z, code, kind, row, values, title }, model, columns, table) {
  const suffixes = { seen: "", "held out": " · held out", new: "" };
  const heading = title ?? (row === undefined ? "" : (table.id?.values[row] ?? `Row ${row + 1}`));
  const cells = values ?? (row === undefined ? [] : table.rows[row]);
  const entries = cells.slice(0, SHOWN_VALUES).map((value, index) => [columns[index], value || "missing"]);
  return [
    element("strong", {}, `${heading}${heading && " · "}${String(model.classes[code])}${suffixes[kind]}`),
    element(
      "dl",
      {},
      z.map((value, axis) => [element("dt", {}, `z${axis}`), element("dd", {}, short(value))]),
      entries.map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]),
    ),
    cells.length > SHOWN_VALUES && element("span", { class: "hint" }, `and ${cells.length - SHOWN_VALUES} more`),
  ].filter(Boolean);
}
