// How far the features move some rows along each axis, on average.

// One number per axis and feature. Their sum is the difference of the rows' mean from the mean of all rows.
export function pushOf({ X, rows, scale }, { projection: V }, chosen) {
  const d = V.length;
  const sums = new Float64Array(d);
  let count = 0;
  for (let row = 0; row < rows.length; row += 1) {
    if (!chosen.has(rows[row])) continue;
    count += 1;
    for (let j = 0; j < d; j += 1) sums[j] += X[row * d + j];
  }
  return V[0].map((_, axis) => sums.map((sum, j) => (count ? (sum / count) * scale[j] * V[j][axis] : 0)));
}
