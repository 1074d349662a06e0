// What a picture shows of a model, as the service gives it. A notebook and an exported file have sources of their own,
// with the same four functions.

import { ResponseError, get, post, request } from "./api.js";
import { readNpz } from "./npz.js";

const PAGE = 20_000; // rows asked for at once
const MOST_ROWS = 200_000; // of a table that is shown

// Where rows cannot be had: no scope, switched off, deleted, imported.
const NOT_GIVEN = [403, 404, 410];

export class HttpSource {
  constructor(model, signal) {
    this.model = model;
    this.signal = signal;
  }

  // { X (n, d) standardized, rows, codes, center, scale } of the training rows, or null where they are not given.
  features() {
    this.asked ??= orNull(() => this.readFeatures());
    return this.asked;
  }

  async readFeatures() {
    if (!this.model.dataset_id) return null; // imported: the rows stayed where it was made
    const headers = { Accept: "application/x-npz" };
    const answer = await request(`v1/models/${this.model.id}/features`, { signal: this.signal, headers });
    const { X, row_numbers: rows, codes, center, scale } = readNpz(await answer.arrayBuffer());
    const [rowNumbers, classCodes] = [rows, codes].map(({ data }) => Int32Array.from(data, Number));
    return { X: X.data, rows: rowNumbers, codes: classCodes, center: center.data, scale: scale.data };
  }

  // How far apart a projection (d, k) keeps the classes: { divergence, leave_one_out_balanced_accuracy }.
  separation(V) {
    return post(`v1/models/${this.model.id}/separation`, { V }, { signal: this.signal });
  }

  // { columns: [{ name, role, values }], rowNumbers } of the dataset, or null where it is too large or not given.
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

  // A worker that computes separations beside the page.
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
