// Axes named by what they are made of: "bill length − bill depth" says more than z0.

const NAMED = 2; // columns
const NEGLIGIBLE = 0.25; // of the strongest column's weight: below, a column is not named
const LONGEST = 26; // characters of a name

// The columns of the table behind the features: [{ name, features (indexes) }].
export const columnsOf = (card) =>
  card.columns
    ? card.columns.map(({ name, features }) => ({ name, features: listed(card, features) }))
    : card.features.map((name, index) => ({ name, features: [index] }));

// Of many features a card has the strongest: where these stand in its lists.
const listed = ({ feature_positions: positions }, features) =>
  positions ? features.map((place) => positions.indexOf(place)).filter((index) => index >= 0) : features;

// `weights` has one number a feature, standardized. A column of several features has no sign.
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

export const shorten = (name) => (name.length <= LONGEST ? name : `${name.slice(0, LONGEST - 1)}…`);
