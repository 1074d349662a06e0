// The data of a picture, from the service. Notebooks and exported files have other sources with the same four functions.

import { ResponseError, get, post, request } from "./api.js";
import { readNpz } from "./npz.js";

const PAGE = 20_000; // rows per request
const MOST_ROWS = 200_000; // of a table that is shown

// Rows may be unavailable: missing scope, disabled, deleted, or an imported model.
const NOT_GIVEN = [403, 404, 410];

export class HttpSource {
  constructor(model, signal) {
    this.model = model;
    this.signal = signal;
  }

  // { X (n, d) standardized, rows, codes, center, scale } of the training rows, or null if they are unavailable.
  features() {
    this.asked ??= orNull(() => this.readFeatures());
    return this.asked;
  }

  async readFeatures() {
    if (!this.model.dataset_id) return null; // an imported model has no rows
    const headers = { Accept: "application/x-npz" };
    const answer = await request(`v1/models/${this.model.id}/features`, { signal: this.signal, headers });
    const { X, row_numbers: rows, codes, center, scale } = readNpz(await answer.arrayBuffer());
    const [rowNumbers, classCodes] = [rows, codes].map(({ data }) => Int32Array.from(data, Number));
    return { X: X.data, rows: rowNumbers, codes: classCodes, center: center.data, scale: scale.data };
  }

  // The separation of a projection (d, k): { divergence, leave_one_out_balanced_accuracy }.
  separation(V) {
    return post(`v1/models/${this.model.id}/separation`, { V }, { signal: this.signal });
  }

  // { columns: [{ name, role, values }], rowNumbers } of the dataset, or null if it is too large or unavailable.
  table() {
    this.read ??= orNull(() => this.readTable());
    return this.read;
  }

  async readTable() {
    if (!this.model.dataset_id) return null;
    let [offset, columns, rowNumbers] = [0, null, []];
    while (offset !== null) {
      const address = `v1/datasets/${this.model.dataset_id}/rows?limit=${PAGE}&offset=${offset}`;
      const page = await get(address, { signal: this.signal, headers: { Accept: "application/json" } });
      if (page.n_rows > MOST_ROWS) return null;
      if (columns) columns.forEach((column, index) => (column.values = column.values.concat(page.columns[index].values)));
      else columns = page.columns;
      rowNumbers = rowNumbers.concat(page.row_numbers);
      offset = page.next_offset;
    }
    return { columns, rowNumbers };
  }

  // A web worker that computes separations.
  worker() {
    return new Worker(new URL("./picture/separation_worker.js", import.meta.url), { type: "module" });
  }
}

async function orNull(ask) {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ResponseError && NOT_GIVEN.includes(error.status)) return null;
    throw error;
  }
}
