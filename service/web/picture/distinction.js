// What distinguishes some rows from others: for each column the size of the difference, with an interval.

const NORMAL = 1.96; // of a 95 % interval
const MOST_VALUES = 50; // of a column whose categories are compared one by one
const LEAST = 2; // rows on either side
const [MISSING, PRESENT] = ["missing", "present"]; // whether a value is missing may be more informative than the value

// Columns [{ name, values }], best first: { name, effect, interval, kind, … }. `inside` and `outside` are indexes of rows.
export function distinguish(columns, inside, outside) {
  if (inside.length < LEAST || outside.length < LEAST) return [];
  return columns
    .map((column) => compare(column, inside, outside))
    .filter(Boolean)
    .sort((a, b) => strength(b) - strength(a));
}

// The end of the interval that is nearer to zero: a conservative size of the difference.
const strength = ({ interval: [low, high] }) => (low > 0 ? low : high < 0 ? -high : 0);

function compare({ name, values }, inside, outside) {
  const all = [inside, outside].map((rows) => rows.map((row) => values[row]));
  const [own, others] = all.map((each) => each.filter((value) => value !== null));
  const found = [compareShares(name, ...all.map((each) => each.map((value) => (value === null ? MISSING : PRESENT))))];
  if (own.length >= LEAST && others.length >= LEAST) {
    const isNumeric = [...own, ...others].every((value) => typeof value === "number");
    found.push(isNumeric ? compareNumbers(name, own, others) : compareShares(name, own.map(String), others.map(String)));
  }
  return found.filter(Boolean).reduce((best, each) => (best && strength(best) >= strength(each) ? best : each), null);
}

// Hedges' g: the difference of the means in standard deviations, with the small-sample correction.
function compareNumbers(name, own, others) {
  const [a, b] = [own, others].map(moments);
  const pooled = Math.sqrt(((a.n - 1) * a.variance + (b.n - 1) * b.variance) / (a.n + b.n - 2));
  if (!(pooled > 0)) return null;
  const correction = 1 - 3 / (4 * (a.n + b.n) - 9);
  const effect = (correction * (a.mean - b.mean)) / pooled;
  const error = Math.sqrt((a.n + b.n) / (a.n * b.n) + effect ** 2 / (2 * (a.n + b.n)));
  return { name, kind: "number", effect, interval: around(effect, error), own, others, means: [a.mean, b.mean] };
}

// The category with the largest Cohen's h: the difference of the arcsine-transformed shares.
function compareShares(name, own, others) {
  const categories = new Set([...own, ...others]);
  if (categories.size < 2 || categories.size > MOST_VALUES) return null;
  const angle = (share) => 2 * Math.asin(Math.sqrt(share));
  const found = [...categories].map((category) => {
    const shares = [own, others].map((values) => values.filter((value) => value === category).length / values.length);
    return { category, shares, effect: angle(shares[0]) - angle(shares[1]) };
  });
  const largest = found.reduce((best, each) => (Math.abs(each.effect) > Math.abs(best.effect) ? each : best));
  const error = Math.sqrt(1 / own.length + 1 / others.length);
  return { name, kind: "category", ...largest, interval: around(largest.effect, error) };
}

const around = (value, error) => [value - NORMAL * error, value + NORMAL * error];

function moments(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  return { n: values.length, mean, variance };
}
