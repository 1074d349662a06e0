// A held-out score on a scale from chance to perfect: the mean, its interval, and each fold.

import { svg } from "../element.js";
import { scale } from "./axis.js";
import { MEANINGS } from "../meanings.js";
import { score } from "../words.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, LINE] = [520, 104, 16, 16, 44];

export function scoreScale({ balanced_accuracy: mean, interval: [low, high], scores, chance }) {
  const begin = Math.min(chance, low, ...scores) - 0.04;
  const toX = scale([Math.max(0, begin), 1], [LEFT, WIDTH - RIGHT]);
  const label = `Balanced accuracy ${score(mean)}, interval ${score(low)} to ${score(high)}, chance ${score(chance)}`;
  const mark = (value, text, anchor, meaning) => [
    svg("line", { class: "grid", x1: toX(value), x2: toX(value), y1: LINE - 26, y2: LINE + 26 }),
    svg("text", { class: "tick", x: toX(value), y: LINE + 48, "text-anchor": anchor }, text, meaning && svg("title", {}, meaning)),
  ];
  return svg(
    "svg",
    { class: "score-scale", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: LINE, y2: LINE }),
    mark(chance, `chance ${score(chance)}`, toX(chance) < 60 ? "start" : "middle", MEANINGS.chance),
    mark(1, "perfect 1", "end"),
    svg("rect", {
      class: "interval",
      x: toX(low),
      width: Math.max(2, toX(high) - toX(low)),
      y: LINE - 11,
      height: 22,
      rx: 11,
    }),
    scores.map((value) => svg("circle", { class: "fold", cx: toX(value), cy: LINE, r: 4.5 }, svg("title", {}, `one fold: ${score(value)}`))),
    svg("line", { class: "mean", x1: toX(mean), x2: toX(mean), y1: LINE - 18, y2: LINE + 18 }),
  );
}
