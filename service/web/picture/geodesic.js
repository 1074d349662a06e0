// The geodesic from one plane to another: each pair of principal directions rotates by its principal angle.

import { dot, times } from "./tour.js";

const PARALLEL = 1e-9; // sine of an angle below which two directions are one

export class Geodesic {
  // Both frames have the same R; only the plane changes.
  constructor(from, to) {
    Object.assign(this, { from, to });
    const { left, cosines, right } = decompose(from.W.map((a) => to.W.map((b) => dot(a, b))));
    this.left = left;
    this.right = right;
    this.angles = cosines.map((cosine) => Math.acos(Math.max(-1, Math.min(1, cosine))));
    const [[a, b], [c, d]] = [left, right].map(([[x], [y]]) => [x, y]);
    this.swing = Math.atan2(c * b - d * a, c * a + d * b); // from the principal directions of one plane to the other's
  }

  get length() {
    return Math.hypot(...this.angles);
  }

  // Four coordinates per row: along the principal directions of the first plane, and along the directions out of it.
  // Two numbers a row are given for each plane, x W.
  spread(coordinates, others) {
    const result = new Float32Array(2 * coordinates.length);
    for (let at = 0; at < coordinates.length; at += 2) {
      result.set(this.divide([coordinates[at], coordinates[at + 1]], [others[at], others[at + 1]]), 2 * at);
    }
    return result;
  }

  divide(own, other) {
    const a = times(own, this.left);
    const b = times(other, this.right);
    const aside = this.angles.map((angle, axis) => {
      const sine = Math.sin(angle);
      return sine > PARALLEL ? (b[axis] - a[axis] * Math.cos(angle)) / sine : 0;
    });
    return [...a, ...aside];
  }

  // Four numbers a row to picture coordinates, at a share of the way.
  matrix(share) {
    const [cosine, sine] = [Math.cos(share * this.swing), Math.sin(share * this.swing)];
    const swing = [
      [cosine, -sine],
      [sine, cosine],
    ];
    const principal = transpose(this.left).map((row) => times(row, this.from.R));
    const axes = swing.map((row) => times(row, principal));
    const scaled = (by) => axes.map((axis, index) => axis.map((value) => value * by(share * this.angles[index])));
    return [...scaled(Math.cos), ...scaled(Math.sin)];
  }

  // Where a variable's tip is on the way.
  tip(j, share) {
    return times(this.divide(this.from.weights(j), this.to.weights(j)), this.matrix(share));
  }
}

const transpose = ([[a, b], [c, d]]) => [
  [a, c],
  [b, d],
];

// left diag(cosines) right^T of a 2 x 2 matrix, left and right without reflection; the second cosine may be negative.
function decompose([[a, b], [c, d]]) {
  const angle = Math.atan2(2 * (a * b + c * d), a * a + c * c - b * b - d * d) / 2;
  const [x, y] = [Math.cos(angle), Math.sin(angle)];
  const image = [a * x + b * y, c * x + d * y];
  const length = Math.hypot(...image);
  const [u, v] = length > PARALLEL ? image.map((value) => value / length) : [1, 0];
  const second = -v * (b * x - a * y) + u * (d * x - c * y);
  return { left: turned(u, v), cosines: [length, second], right: turned(x, y) };
}

const turned = (cosine, sine) => [
  [cosine, -sine],
  [sine, cosine],
];
