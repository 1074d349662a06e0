// The points of a picture, one entry each in arrays of one length: rows of the fit, held-out rows, new rows.

export const [SEEN, HELD_OUT, NEW] = [0, 1, 2];

export class Cloud {
  // `places` has k numbers a point, of which `axes` are drawn; `rows` the row's number in the dataset, or -1.
  constructor({ places, k, axes, codes, kinds, rows, describe }) {
    const n = codes.length;
    Object.assign(this, { codes, kinds, rows, describe });
    this.positions = new Float32Array(3 * n);
    for (let index = 0; index < n; index += 1) {
      axes.forEach((axis, at) => (this.positions[3 * index + at] = places[k * index + axis]));
    }
    this.original = this.positions.slice(); // in the projection of the model, even if the picture is rotated
    this.colors = null; // three bytes per point, unless points are colored by class
    this.selected = null; // one byte per point, if some are selected
    this.order = shuffled(kinds); // drawing order, so that the last class does not cover the others
  }

  get size() {
    return this.codes.length;
  }
}

// All indexes in a reproducible random order; new rows come last, so they are drawn on top.
function shuffled(kinds) {
  const order = Uint32Array.from(kinds, (_, index) => index);
  let state = 1;
  for (let index = order.length - 1; index > 0; index -= 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const other = Math.floor((state / 2 ** 32) * (index + 1));
    [order[index], order[other]] = [order[other], order[index]];
  }
  return Uint32Array.from([...order.filter((index) => kinds[index] !== NEW), ...order.filter((index) => kinds[index] === NEW)]);
}
