// The positions of rows in a picture: of the fit from its features, of held-out and sampled rows from the plot data.

const MOST_DRAWN = 3; // the last component of which there are pairs: the first panels are 0 and 1, 0 and 2, 0 and 3

// { Z (n, k), codes, rows } of all rows of the fit.
export function projectedRows({ X, rows, codes, center, scale }, { projection: V, offset }) {
  const [d, k] = [V.length, V[0].length];
  const n = codes.length;
  const weights = V.map((row, j) => row.map((value) => value * scale[j]));
  const shift = V[0].map((_, axis) => V.reduce((sum, row, j) => sum + row[axis] * (center[j] - offset[j]), 0));
  const Z = new Float64Array(k * n);
  for (let row = 0; row < n; row += 1) {
    for (let axis = 0; axis < k; axis += 1) {
      let value = shift[axis];
      for (let j = 0; j < d; j += 1) value += X[row * d + j] * weights[j][axis];
      Z[k * row + axis] = value;
    }
  }
  return { Z, codes, rows };
}

// The rows in the plot data, which has pairs of components, each with the same rows in the same order.
export const drawnRows = (plot) => pointsOf(plot, ({ points }) => points);

// Held-out rows in the projections of the cross-validation, with their predicted classes.
export function heldOutRows(plot) {
  const found = pointsOf(plot, ({ held_out: points = [] }) => points);
  const flat = (pick) => Int32Array.from(plot.panels[0].series.flatMap((series) => pick(series) ?? []));
  const [rows, predicted] = [flat((series) => series.held_out_rows), flat((series) => series.held_out_predicted)];
  return { ...found, ...(rows.length === found.rows.length && { rows }), predicted };
}

function pointsOf({ n_components: k, panels }, pick) {
  const [Z, codes] = [[], []];
  panels[0].series.forEach((series, code) => {
    pick(series).forEach(([x], index) => {
      Z.push(x);
      for (let axis = 1; axis < k; axis += 1) Z.push(axis <= MOST_DRAWN ? pick(panels[axis - 1].series[code])[index][1] : 0);
      codes.push(code);
    });
  });
  return { Z: Float64Array.from(Z), codes: Int32Array.from(codes), rows: new Int32Array(codes.length).fill(-1) };
}
