// The manual tour: a plane of standardized rows, turned by one variable at a time (Cook and Buja 1997).
//
// Rows x are standardized; the picture shows z = x W R with W (d, 2) orthonormal and R (2, 2) fixed, so that nothing
// jumps. Turning by variable j stays in the span of W and e_j: three numbers a row tell where it goes.

const NEGLIGIBLE = 1e-6; // smallest component outside the plane by which a variable can be rotated

export class Frame {
  // `W` are two orthonormal columns of d numbers, `R` the rows of a 2 x 2 matrix.
  constructor(W, R) {
    this.W = W;
    this.R = R;
  }

  // The frame that shows x A for two columns A.
  static of(A) {
    const first = normalize(A[0]);
    const overlap = dot(first.direction, A[1]);
    const second = normalize(A[1].map((value, j) => value - overlap * first.direction[j]));
    const W = [first.direction, second.direction];
    const R = [
      [first.length, overlap],
      [0, second.length],
    ];
    return new Frame(W, R);
  }

  get size() {
    return this.W[0].length;
  }

  weights(j) {
    return [this.W[0][j], this.W[1][j]];
  }

  // Where one standard deviation of variable j leads in the picture.
  tip(j) {
    return times(this.weights(j), this.R);
  }

  // W R, the columns that project standardized rows.
  get columns() {
    return [0, 1].map((axis) => this.W[0].map((value, j) => value * this.R[0][axis] + this.W[1][j] * this.R[1][axis]));
  }

  // x W of every row of X (n, d): two numbers a row.
  coordinates(X) {
    const d = this.size;
    const n = X.length / d;
    const [first, second] = this.W;
    const result = new Float64Array(2 * n);
    for (let row = 0, at = 0; row < n; row += 1) {
      let [a, b] = [0, 0];
      for (let j = 0; j < d; j += 1, at += 1) {
        a += X[at] * first[j];
        b += X[at] * second[j];
      }
      result[2 * row] = a;
      result[2 * row + 1] = b;
    }
    return result;
  }
}

// The frames that can be reached from a frame by moving the arrow of one variable.
export class Turn {
  constructor(frame, j) {
    this.frame = frame;
    this.pivot = outside(frame, j) > NEGLIGIBLE ? j : mostOutside(frame);
    const [a, b] = frame.weights(this.pivot);
    this.length = outside(frame, this.pivot);
    this.isPossible = this.length > NEGLIGIBLE; // false if the variable lies in the plane
    const own = frame.weights(j);
    const along = this.isPossible ? ((j === this.pivot) - own[0] * a - own[1] * b) / this.length : 0;
    this.start = [...own, along]; // e_j in the basis W, u
  }

  // Of every row three numbers, x W and x u. `coordinates` are those of the frame; only one column of X is read.
  spread(X, coordinates) {
    const d = this.frame.size;
    const n = coordinates.length / 2;
    const [a, b] = this.frame.weights(this.pivot);
    const result = new Float32Array(4 * n);
    for (let row = 0; row < n; row += 1) {
      const [first, second] = [coordinates[2 * row], coordinates[2 * row + 1]];
      result[4 * row] = first;
      result[4 * row + 1] = second;
      result[4 * row + 2] = (X[row * d + this.pivot] - first * a - second * b) / this.length;
    }
    return result;
  }

  // Q (3, 2), which turns [W u] to the plane in which variable j has its tip nearest to `tip`.
  toward(tip) {
    const wanted = times(tip, inverse(this.frame.R));
    const reach = Math.hypot(...wanted);
    const [a, b] = reach > 1 ? wanted.map((value) => value / reach) : wanted;
    const end = [a, b, Math.sqrt(Math.max(0, 1 - a * a - b * b)) * (this.start[2] < 0 ? -1 : 1)];
    return rotation(this.start, end).map((row) => row.slice(0, 2));
  }

  // Three numbers a row to picture coordinates: Q R.
  matrix(Q) {
    return Q.map((row) => times(row, this.frame.R));
  }

  // Where another variable's tip is after the turn by Q.
  tip(j, Q) {
    const [a, b] = this.frame.weights(j);
    const [pivotA, pivotB] = this.frame.weights(this.pivot);
    const along = ((j === this.pivot) - a * pivotA - b * pivotB) / this.length;
    return times(times([a, b, along], Q), this.frame.R);
  }

  // The frame after the turn by Q.
  end(Q) {
    const [first, second] = this.frame.W;
    const [a, b] = this.frame.weights(this.pivot);
    const u = first.map((value, j) => ((j === this.pivot) - value * a - second[j] * b) / this.length);
    const turned = [0, 1].map((axis) =>
      first.map((value, j) => value * Q[0][axis] + second[j] * Q[1][axis] + u[j] * Q[2][axis]),
    );
    return new Frame(orthonormal(turned), this.frame.R);
  }
}

const outside = (frame, j) => {
  const [a, b] = frame.weights(j);
  return Math.sqrt(Math.max(0, 1 - a * a - b * b));
};

function mostOutside(frame) {
  let best = 0;
  for (let j = 1; j < frame.size; j += 1) if (outside(frame, j) > outside(frame, best)) best = j;
  return best;
}

// The smallest rotation G (3, 3) with start G = end, both of length 1.
function rotation(start, end) {
  const cosine = dot(start, end);
  const [x, y, z] = cross(start, end);
  if (1 + cosine < 1e-9) return half(start);
  const skew = [
    [0, -z, y],
    [z, 0, -x],
    [-y, x, 0],
  ];
  const squared = skew.map((row) => times(row, skew));
  // As rows are multiplied from the left, this is the transpose of Rodrigues' formula.
  return skew.map((_, row) =>
    skew.map((_, column) => (row === column) + skew[column][row] + squared[column][row] / (1 + cosine)),
  );
}

// Half a turn around an axis at right angles to `start`.
function half(start) {
  const axis = normalize(cross(start, Math.abs(start[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0])).direction;
  return axis.map((a, row) => axis.map((b, column) => 2 * a * b - (row === column)));
}

export const dot = (a, b) => a.reduce((sum, value, index) => sum + value * b[index], 0);
const cross = ([a, b, c], [x, y, z]) => [b * z - c * y, c * x - a * z, a * y - b * x];

// A row times a matrix given by its rows.
export const times = (row, matrix) =>
  matrix[0].map((_, column) => row.reduce((sum, value, index) => sum + value * matrix[index][column], 0));

export function inverse([[a, b], [c, d]]) {
  const determinant = a * d - b * c;
  return [
    [d / determinant, -b / determinant],
    [-c / determinant, a / determinant],
  ];
}

function normalize(vector) {
  const length = Math.sqrt(dot(vector, vector));
  return { length, direction: vector.map((value) => value / length) };
}

function orthonormal([first, second]) {
  const a = normalize(first).direction;
  const overlap = dot(a, second);
  return [a, normalize(second.map((value, j) => value - overlap * a[j])).direction];
}
