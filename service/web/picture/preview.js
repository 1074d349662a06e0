// The preview of a running fit: the best start so far, with a transition to the next better one.

import { colorOf } from "../charts/palette.js";
import { element } from "../element.js";
import { limitsOf } from "./limits.js";

const SIZE = 640; // pixels of the canvas
const DURATION = 600; // milliseconds from one picture to the next
const RADIUS = 5;

export class Preview {
  constructor() {
    const label = "The best picture so far";
    this.node = element("canvas", { class: "preview", width: SIZE, height: SIZE, role: "img", "aria-label": label });
    this.pen = this.node.getContext("2d");
  }

  // `Z` are projected rows, `codes` their classes. The rows are the same each time.
  show({ Z, codes }) {
    const target = fitted(Z.map((z) => (z.length > 1 ? [z[0], z[1]] : [z[0], jitter(z[0])])), codes);
    const start = this.places?.length === target.length ? this.places : null;
    const end = start ? nearest(target, start) : target;
    cancelAnimationFrame(this.frame);
    if (!start || matchMedia("(prefers-reduced-motion: reduce)").matches) return this.draw(end, codes);
    const begin = performance.now();
    const step = (now) => {
      const share = Math.min(1, Math.max(0, (now - begin) / DURATION));
      const eased = share * share * (3 - 2 * share);
      this.draw(
        end.map(([x, y], index) => [start[index][0] + eased * (x - start[index][0]), start[index][1] + eased * (y - start[index][1])]),
        codes,
      );
      if (share < 1 && this.node.isConnected) this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }

  draw(places, codes) {
    const { pen } = this;
    this.places = places;
    pen.clearRect(0, 0, SIZE, SIZE);
    pen.globalAlpha = 0.65;
    places.forEach(([x, y], index) => {
      const [left, top] = [x, -y].map((value) => SIZE * (0.5 + 0.46 * Math.max(-1, Math.min(1, value))));
      pen.fillStyle = colorOf(codes[index]);
      pen.beginPath();
      pen.arc(left, top, RADIUS, 0, 2 * Math.PI);
      pen.fill();
    });
  }
}

// One component has no second axis: rows are spread so that they can be seen.
const jitter = (value) => Math.sin(value * 12.9898) * 0.5;

// Scaled to -1 … 1 on both axes.
function fitted(places, codes) {
  const limits = [0, 1].map((axis) =>
    limitsOf(
      places.map((place) => place[axis]),
      codes,
    ),
  );
  return places.map((place) => place.map((value, axis) => (2 * (value - limits[axis][0])) / (limits[axis][1] - limits[axis][0]) - 1));
}

// Reflections and rotations by a right angle are equivalent; returns the one that is nearest to the shown picture.
function nearest(places, shown) {
  const ways = [false, true].flatMap((isSwapped) =>
    [1, -1].flatMap((a) =>
      [1, -1].map((b) => ([x, y]) => (isSwapped ? [a * y, b * x] : [a * x, b * y])),
    ),
  );
  const distance = (way) => places.reduce((sum, place, index) => sum + apart(way(place), shown[index]), 0);
  const best = ways.map((way) => [distance(way), way]).reduce((least, each) => (each[0] < least[0] ? each : least))[1];
  return places.map(best);
}

const apart = ([x, y], [a, b]) => (x - a) ** 2 + (y - b) ** 2;
