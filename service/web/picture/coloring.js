// Points colored by a column: numbers from light to dark, categories by distinct colors.

import { bytesOf, colorOf } from "../charts/palette.js";
import { element } from "../element.js";
import { short } from "../words.js";

const SEQUENCE = ["#fde725", "#7ad151", "#22a884", "#2a788e", "#414487", "#440154"]; // low to high, told apart in gray as well
const MISSING = "#9a9aa2";
const CATEGORIES = 10; // with a color of their own
const CUT = 0.02; // share of the rows at either end that get the last color

// { bytes(row), legend } of a column's values.
export function coloring({ name, values }) {
  const present = values.filter((value) => value !== null);
  return present.every((value) => typeof value === "number") ? byNumber(name, values, present) : byCategory(name, values, present);
}

function byNumber(name, values, present) {
  const sorted = Float64Array.from(present).sort();
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))] ?? 0;
  const [low, high] = [at(CUT), at(1 - CUT)];
  const stops = SEQUENCE.map(bytesOf);
  const bytes = (value) => {
    const place = high > low ? Math.max(0, Math.min(1, (value - low) / (high - low))) * (stops.length - 1) : 0;
    const index = Math.min(stops.length - 2, Math.floor(place));
    return stops[index].map((channel, at) => Math.round(channel + (place - index) * (stops[index + 1][at] - channel)));
  };
  const missing = bytesOf(MISSING);
  const legend = element(
    "p",
    { class: "color-scale" },
    element("strong", {}, name),
    short(low),
    element("span", { class: "ramp", style: { background: `linear-gradient(90deg, ${SEQUENCE.join(", ")})` } }),
    short(high),
  );
  return { bytes: (row) => (values[row] === null ? missing : bytes(values[row])), legend };
}

function byCategory(name, values, present) {
  const counts = new Map();
  for (const value of present) counts.set(value, (counts.get(value) ?? 0) + 1);
  const shown = [...counts].sort((a, b) => b[1] - a[1]).slice(0, CATEGORIES).map(([value]) => value);
  const colors = new Map(shown.map((value, index) => [value, bytesOf(colorOf(index))]));
  const other = bytesOf(MISSING);
  const entry = (text, color) =>
    element("span", { class: "color-entry" }, element("span", { class: "dot", style: { background: color } }), text);
  const legend = element(
    "p",
    { class: "color-scale" },
    element("strong", {}, name),
    shown.map((value, index) => entry(String(value), colorOf(index))),
    (counts.size > CATEGORIES || present.length < values.length) && entry("other or missing", MISSING),
  );
  return { bytes: (row) => colors.get(values[row]) ?? other, legend };
}
