// Round values along an axis, and segments put together to lines.

export function ticks([low, high], wanted = 6) {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const values = [];
  for (let multiple = Math.ceil(low / step); multiple * step <= high; multiple += 1) {
    values.push(Number((multiple * step).toPrecision(12)));
  }
  return values;
}

export const scale =
  ([low, high], [from, to]) =>
  (value) =>
    from + ((value - low) / (high - low)) * (to - from);

// Lines of points out of segments [x1, y1, x2, y2] that share their ends.
export function chain(segments) {
  const at = new Map();
  const key = (x, y) => `${x} ${y}`;
  const note = (place, segment) => at.set(place, [...(at.get(place) ?? []), segment]);
  for (const segment of segments) {
    note(key(segment[0], segment[1]), segment);
    note(key(segment[2], segment[3]), segment);
  }
  const used = new Set();
  const follow = (line, extend) => {
    for (;;) {
      const [x, y] = extend === "push" ? line.at(-1) : line[0];
      const next = at.get(key(x, y))?.find((segment) => !used.has(segment));
      if (!next) return;
      used.add(next);
      line[extend](next[0] === x && next[1] === y ? [next[2], next[3]] : [next[0], next[1]]);
    }
  };
  const lines = [];
  for (const segment of segments) {
    if (used.has(segment)) continue;
    used.add(segment);
    const line = [
      [segment[0], segment[1]],
      [segment[2], segment[3]],
    ];
    follow(line, "push");
    follow(line, "unshift");
    lines.push(line);
  }
  return lines;
}
