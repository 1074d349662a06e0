// The limits of an axis, which a few outliers must not determine.

const CENTRAL = 0.9; // of the rows of a class
const REACH = 0.8; // of the width of the central rows, on either side: normal rows are never cut
const ROOM = 0.05;
const ENOUGH = 5; // rows of a class that affects the limits

// [low, high] of values with the class of each. All classes are visible; only the few outliers of each may not be.
export function limitsOf(values, codes) {
  const byClass = new Map();
  for (let index = 0; index < values.length; index += 1) {
    const code = codes[index];
    if (!byClass.has(code)) byClass.set(code, []);
    byClass.get(code).push(values[index]);
  }
  const classes = [...byClass.values()];
  const large = classes.filter(({ length }) => length >= ENOUGH);
  let [low, high] = [Infinity, -Infinity];
  for (const members of large.length ? large : classes) {
    const [from, to] = central(members);
    [low, high] = [Math.min(low, from), Math.max(high, to)];
  }
  const room = ROOM * (high - low) || 1;
  return [low - room, high + room];
}

function central(members) {
  const sorted = Float64Array.from(members).sort();
  const cut = Math.floor(((1 - CENTRAL) / 2) * (sorted.length - 1));
  const [from, to] = [sorted[cut], sorted[sorted.length - 1 - cut]];
  const reach = REACH * (to - from);
  return [Math.max(sorted[0], from - reach), Math.min(sorted[sorted.length - 1], to + reach)];
}
