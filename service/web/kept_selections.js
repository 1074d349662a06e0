// Rows that are selected in the picture of one model stay marked in other pictures of the same dataset.

const selections = new Map(); // by dataset: a set of row numbers

export const keepSelection = (datasetId, rows) => selections.set(datasetId, rows);
export const keptSelection = (datasetId) => selections.get(datasetId) ?? new Set();
