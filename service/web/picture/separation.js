// The approximate Cauchy-Schwarz divergence of the classes of projected rows, from kernel densities on a grid.
// The library computes the same sums over frequencies, with as many of them as its accuracy requires.

const SIZE = 64; // cells of the grid on each axis, a power of two
const ROOM = 0.15; // around the rows, as a share of their range: the grid is periodic
const CUT = 0.001; // share of the rows at either end that may lie beyond the grid
const SMALLEST = 1e-12; // similarity that the grid can resolve

// Silverman's factor for two components.
export const kernelWidth = (nRows, gamma) => gamma * nRows ** (-1 / 6);

// `z` holds two numbers a row, `codes` the class of each; `widths` is the kernel width of each class.
export function separationOf(z, codes, widths) {
  const nClasses = widths.length;
  const ranges = [0, 1].map((axis) => span(z, axis));
  const steps = ranges.map(([low, high]) => (high - low) / SIZE);
  const moments = Array.from({ length: nClasses }, () => [0, 0, 0, 0, 0, 0]);
  const spectra = Array.from({ length: nClasses }, () => [new Float64Array(SIZE * SIZE), new Float64Array(SIZE * SIZE)]);
  for (let row = 0; row < codes.length; row += 1) {
    const x = Math.min(SIZE - 1.001, Math.max(0, (z[2 * row] - ranges[0][0]) / steps[0]));
    const y = Math.min(SIZE - 1.001, Math.max(0, (z[2 * row + 1] - ranges[1][0]) / steps[1]));
    const [column, line] = [Math.floor(x), Math.floor(y)];
    const [right, below] = [x - column, y - line];
    const counts = spectra[codes[row]][0];
    const at = line * SIZE + column;
    counts[at] += (1 - right) * (1 - below);
    counts[at + 1] += right * (1 - below);
    counts[at + SIZE] += (1 - right) * below;
    counts[at + SIZE + 1] += right * below;
    const sums = moments[codes[row]];
    sums[0] += 1;
    sums[1] += x;
    sums[2] += y;
    sums[3] += x * x;
    sums[4] += x * y;
    sums[5] += y * y;
  }
  const smoothing = moments.map(([n, x, y, xx, xy, yy], code) => {
    const scale = widths[code] ** 2 / n;
    return [(xx - (x * x) / n) * scale, (xy - (x * y) / n) * scale, (yy - (y * y) / n) * scale];
  });
  spectra.forEach(([real, imaginary], code) => {
    for (let at = 0; at < real.length; at += 1) real[at] /= moments[code][0];
    transform(real, imaginary);
  });
  return divergence(spectra, smoothing);
}

function divergence(spectra, smoothing) {
  const potential = (a, b) => {
    const S = smoothing[a].map((value, index) => value + smoothing[b][index]);
    const [[realA, imaginaryA], [realB, imaginaryB]] = [spectra[a], spectra[b]];
    let sum = 0;
    for (let line = 0, at = 0; line < SIZE; line += 1) {
      const v = frequency(line);
      for (let column = 0; column < SIZE; column += 1, at += 1) {
        const u = frequency(column);
        const decay = (S[0] * u * u + 2 * S[1] * u * v + S[2] * v * v) / 2;
        if (decay < 30) sum += Math.exp(-decay) * (realA[at] * realB[at] + imaginaryA[at] * imaginaryB[at]);
      }
    }
    return sum;
  };
  const own = spectra.map((_, code) => potential(code, code));
  let [similarity, pairs] = [0, 0];
  for (let a = 0; a < spectra.length; a += 1) {
    for (let b = 0; b < a; b += 1) {
      similarity += Math.max(0, potential(a, b)) / Math.sqrt(own[a] * own[b]);
      pairs += 1;
    }
  }
  return -2 * Math.log(Math.max(SMALLEST, similarity / pairs));
}

// The frequency of an index in a transform, in radians per cell.
const frequency = (place) => (2 * Math.PI * (place < SIZE / 2 ? place : place - SIZE)) / SIZE;

function span(z, axis) {
  const values = Float64Array.from({ length: z.length / 2 }, (_, row) => z[2 * row + axis]).sort();
  const cut = Math.floor(CUT * values.length);
  const [low, high] = [values[cut], values[values.length - 1 - cut]];
  const room = ROOM * (high - low) || 1;
  return [low - room, high + room];
}

// The discrete Fourier transform of a grid, in place: lines, then columns.
function transform(real, imaginary) {
  for (let line = 0; line < SIZE; line += 1) transformLine(real, imaginary, line * SIZE, 1);
  for (let column = 0; column < SIZE; column += 1) transformLine(real, imaginary, column, SIZE);
}

function transformLine(real, imaginary, start, step) {
  for (let index = 1, mirrored = 0; index < SIZE; index += 1) {
    let bit = SIZE >> 1;
    for (; mirrored & bit; bit >>= 1) mirrored ^= bit;
    mirrored ^= bit;
    if (index < mirrored) {
      const [a, b] = [start + index * step, start + mirrored * step];
      [real[a], real[b]] = [real[b], real[a]];
      [imaginary[a], imaginary[b]] = [imaginary[b], imaginary[a]];
    }
  }
  for (let length = 2; length <= SIZE; length *= 2) {
    for (let begin = 0; begin < SIZE; begin += length) {
      for (let index = 0; index < length / 2; index += 1) {
        const angle = (-2 * Math.PI * index) / length;
        const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
        const [a, b] = [start + (begin + index) * step, start + (begin + index + length / 2) * step];
        const x = real[b] * cosine - imaginary[b] * sine;
        const y = real[b] * sine + imaginary[b] * cosine;
        real[b] = real[a] - x;
        imaginary[b] = imaginary[a] - y;
        real[a] += x;
        imaginary[a] += y;
      }
    }
  }
}
