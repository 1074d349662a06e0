// The two directions in which standardized rows vary most, by subspace iteration on some of them.

const ROWS = 4000;
const ITERATIONS = 60;
const EXTRA = 3; // directions carried along: the leading two settle faster

// Two orthonormal columns for rows X (n, d), turned within their plane to lie as near to the columns `like` as they can.
export function leadingPlane(X, d, like) {
  const rows = sample(X, d);
  const count = Math.min(d, 2 + EXTRA);
  let basis = orthonormalize(Array.from({ length: count }, (_, index) => start(d, index)));
  for (let iteration = 0; iteration < ITERATIONS; iteration += 1) basis = orthonormalize(basis.map((v) => apply(rows, v, d)));
  return align(basis.slice(0, 2), like);
}

function sample(X, d) {
  const n = X.length / d;
  const size = Math.min(n, ROWS);
  return Array.from({ length: size }, (_, index) => {
    const row = Math.floor((index * n) / size);
    return X.subarray(row * d, (row + 1) * d);
  });
}

const start = (d, index) => Float64Array.from({ length: d }, (_, j) => Math.sin((index + 1) * (j + 1) * 1.7));
const inner = (a, b) => a.reduce((sum, value, j) => sum + value * b[j], 0);

function apply(rows, vector, d) {
  const result = new Float64Array(d);
  for (const row of rows) {
    let product = 0;
    for (let j = 0; j < d; j += 1) product += row[j] * vector[j];
    for (let j = 0; j < d; j += 1) result[j] += product * row[j];
  }
  return result;
}

function orthonormalize(vectors) {
  const basis = [];
  for (const vector of vectors) {
    for (let pass = 0; pass < 2; pass += 1) {
      for (const other of basis) {
        const overlap = inner(vector, other);
        for (let j = 0; j < vector.length; j += 1) vector[j] -= overlap * other[j];
      }
    }
    const length = Math.sqrt(inner(vector, vector)) || 1;
    basis.push(vector.map((value) => value / length));
  }
  return basis;
}

// The rotation within the plane, with a reflection where that is nearer, by which it overlaps most with `like`.
function align([a, b], like) {
  const [[p, q], [r, s]] = [a, b].map((own) => like.map((other) => inner(own, other)));
  const [turned, mirrored] = [Math.hypot(p + s, r - q), Math.hypot(p - s, r + q)];
  const sign = turned >= mirrored ? 1 : -1;
  const angle = sign > 0 ? Math.atan2(r - q, p + s) : Math.atan2(r + q, p - s);
  const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
  const first = a.map((value, j) => cosine * value + sine * b[j]);
  return [first, a.map((value, j) => sign * (-sine * value + cosine * b[j]))];
}
