// A web worker that computes separations, so that dragging never waits for one. Of queued requests only the last is kept.

import { separationOf } from "./separation.js";

let task = null; // { codes, widths, places: four numbers a row }

self.onmessage = ({ data }) => {
  if (data.places) task = data;
  if (data.matrix) self.postMessage({ id: data.id, value: separationOf(project(data.matrix), task.codes, task.widths) });
};

function project(matrix) {
  const { places } = task;
  const z = new Float64Array(places.length / 2);
  for (let row = 0; row < places.length / 4; row += 1) {
    for (let axis = 0; axis < 2; axis += 1) {
      let value = 0;
      for (let index = 0; index < matrix.length; index += 1) value += places[4 * row + index] * matrix[index][axis];
      z[2 * row + axis] = value;
    }
  }
  return z;
}
