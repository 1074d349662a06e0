// A histogram of the separations of all starts of the search, as in the paper, updated during the search.

import { svg } from "../element.js";
import { scale, ticks } from "./axis.js";
import { plural, short } from "../words.js";

const [WIDTH, HEIGHT] = [640, 212];
const MARGIN = { left: 34, right: 10, top: 12, bottom: 52 };
const BINS = 24;
const LEAST_SPAN = 0.02; // share of the best: starts with equal separations are in one bar

export function histogram(separations, nStarts) {
  const label = separations.length
    ? `Separation of ${plural(separations.length, "start")}: from ${short(Math.min(...separations))} to ${short(Math.max(...separations))}`
    : "No start is done yet";
  const [low, high] = range(separations);
  const counts = new Array(BINS).fill(0);
  for (const value of separations) counts[Math.min(BINS - 1, Math.floor(((value - low) / (high - low)) * BINS))] += 1;
  const top = Math.max(4, nStarts ? Math.min(nStarts, Math.max(...counts) * 1.15) : Math.max(...counts) * 1.15);
  const bottom = HEIGHT - MARGIN.bottom;
  const toX = scale([low, high], [MARGIN.left, WIDTH - MARGIN.right]);
  const toY = scale([0, top], [bottom, MARGIN.top]);
  const width = (WIDTH - MARGIN.left - MARGIN.right) / BINS;
  const best = Math.max(...separations);
  const bars = counts.map((size, bin) => {
    const isBest = size > 0 && counts.slice(bin + 1).every((later) => later === 0);
    return svg("rect", {
      class: isBest ? "bar best" : "bar",
      x: MARGIN.left + bin * width + 1,
      y: toY(size),
      width: width - 2,
      height: bottom - toY(size),
      rx: 1.5,
    });
  });
  const levels = ticks([0, top], 3).filter(Number.isInteger);
  return svg(
    "svg",
    { class: "histogram", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    levels.map((value) => [
      svg("line", { class: "grid", x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: toY(value), y2: toY(value) }),
      svg("text", { class: "tick", x: MARGIN.left - 8, y: toY(value) + 4, "text-anchor": "end" }, String(value)),
    ]),
    bars,
    separations.length
      ? ticks([low, high]).map((value) =>
          svg("text", { class: "tick", x: toX(value), y: bottom + 18, "text-anchor": "middle" }, String(value)),
        )
      : svg(
          "text",
          { class: "axis", x: WIDTH / 2, y: HEIGHT / 2 - 10, "text-anchor": "middle" },
          "The first start is on its way",
        ),
    svg("text", { class: "axis", x: WIDTH / 2, y: HEIGHT - 4, "text-anchor": "middle" }, "separation of the classes"),
    separations.length > 0 && svg("title", {}, `best: ${short(best)}`),
  );
}

function range(values) {
  if (!values.length) return [0, 1];
  const high = Math.max(...values);
  const low = Math.min(...values, high - LEAST_SPAN * Math.abs(high) || -1);
  const room = (high - low) * 0.04;
  return [low - room, high + room];
}
