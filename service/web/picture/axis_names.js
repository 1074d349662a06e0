// Names of axes from their largest loadings, such as "bill length − bill depth" instead of z0.

const NAMED = 2; // columns
const NEGLIGIBLE = 0.25; // of the strongest column's weight: below, a column is not named
const LONGEST = 26; // characters of a name

// The names of all features of a model.
export const featureNames = ({ feature_names: names, projection }) => names ?? projection.map((_, j) => `x${j}`);

// The columns of the table behind the features: [{ name, features (indexes) }].
export const columnsOf = (model) =>
  model.card.columns
    ? model.card.columns.map(({ name, features }) => ({ name, features }))
    : featureNames(model).map((name, index) => ({ name, features: [index] }));

// Standardized loadings of all features on one axis. If the card has only the largest, the others count as 0.
export function loadingsOn(axis, { card, projection }) {
  const weights = new Float64Array(projection.length);
  card.loadings.forEach((row, index) => (weights[card.feature_positions?.[index] ?? index] = row[axis]));
  return weights;
}

// The names of the columns with the largest loadings, at most so many.
export function strongestColumns(model, most) {
  if (!model.card.loadings?.length) return columnsOf(model).slice(0, most).map(({ name }) => name);
  const weights = model.card.loadings[0].map((_, axis) => loadingsOn(axis, model));
  const size = ({ features }) => Math.hypot(...features.flatMap((index) => weights.map((axis) => axis[index])));
  const sized = columnsOf(model).map((column) => ({ name: column.name, size: size(column) }));
  return sized.sort((a, b) => b.size - a.size).slice(0, most).map(({ name }) => name);
}

// `weights` has one standardized loading per feature. A column with several features has no sign.
export function axisName(weights, columns) {
  const strongest = columns
    .map(({ name, features }) => ({
      name,
      size: Math.hypot(...features.map((index) => weights[index])),
      sign: features.length === 1 && weights[features[0]] < 0 ? "−" : "+",
    }))
    .sort((a, b) => b.size - a.size);
  const named = strongest.slice(0, NAMED).filter(({ size }) => size > NEGLIGIBLE * strongest[0].size);
  const isMore = strongest.slice(named.length).some(({ size }) => size > NEGLIGIBLE * strongest[0].size);
  const text = named.map(({ name, sign }, index) => `${index || sign === "−" ? `${sign} ` : ""}${shorten(name)}`).join(" ");
  return isMore ? `${text} …` : text;
}

export const shorten = (name, most = LONGEST) => (name.length <= most ? name : `${name.slice(0, Math.max(0, most - 1))}…`);
