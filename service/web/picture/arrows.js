// The arrows of a biplot, one for each variable. Their tips can be dragged, by pointer or by keys.

import { element, replace, svg } from "../element.js";
import { shorten } from "./axis_names.js";
import { freeBox } from "./labels.js";

const STEP = 12; // pixels a key moves a tip
const LINE = 15;
const HEAD = 14; // pixels that no name may cover
const SHORTEST = 8; // pixels: a shorter arrow has no name

export class Arrows {
  // `toPixel` and `toPlace` are those of the picture, `origin` is where the mean of all rows is, `takenBoxes` are where
  // other names are. A tip is where one standard deviation leads, `scale` times.
  constructor({ names, origin, toPixel, toPlace, takenBoxes, onGrab, onMove, onRelease }) {
    Object.assign(this, { names, origin, toPixel, toPlace, takenBoxes, onGrab, onMove, onRelease });
    this.scale = 1;
    this.marks = new Map();
    this.node = svg("svg", { class: "arrows", role: "group", "aria-label": "Variables: drag a tip to turn the picture" });
  }

  // Shows these variables, [{ j, tip }].
  show(arrows) {
    this.tips = new Map(arrows.map(({ j, tip }) => [j, tip]));
    for (const [j, { group }] of this.marks) if (!this.tips.has(j)) (group.remove(), this.marks.delete(j));
    for (const j of this.tips.keys()) if (!this.marks.has(j)) this.marks.set(j, this.make(j));
    this.node.append(...[...this.tips.keys()].map((j) => this.marks.get(j).group)); // in the order for screen readers
    this.layout();
  }

  // The same variables, turned: moves lines and tips, names come with them.
  turn(tipOf) {
    for (const [j, mark] of this.marks) {
      this.tips.set(j, tipOf(j));
      const [, , x, y] = this.place(j, mark);
      mark.label.setAttribute("x", x + mark.aside[0]);
      mark.label.setAttribute("y", y + mark.aside[1]);
    }
  }

  make(j) {
    const line = svg("line", { class: "shaft" });
    const head = svg("path", { class: "head", d: "M0 0L-9 -4L-9 4Z" });
    const label = svg("text", { class: "arrow-name" });
    const handle = svg("circle", { class: "handle", r: 13 });
    const group = svg("g", { class: "arrow", tabindex: "0", role: "button" }, line, head, handle, label, svg("title"));
    label.textContent = shorten(this.names[j]);
    handle.addEventListener("pointerdown", (event) => this.drag(event, j, handle));
    group.addEventListener("keydown", (event) => this.press(event, j));
    return { group, line, head, label, handle };
  }

  drag(event, j, handle) {
    event.preventDefault();
    const bounds = this.node.getBoundingClientRect();
    const tipUnder = ({ clientX, clientY }) => this.toTip([clientX - bounds.left, clientY - bounds.top]);
    if (!this.onGrab(j)) return;
    handle.setPointerCapture(event.pointerId);
    const move = (moved) => this.onMove(j, tipUnder(moved));
    const end = () => {
      handle.removeEventListener("pointermove", move);
      this.onRelease();
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("lostpointercapture", end, { once: true });
  }

  press(event, j) {
    const steps = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const [left, top] = this.pixelOf(this.tips.get(j));
    if (!this.onGrab(j)) return;
    this.onMove(j, this.toTip([left + step[0], top + step[1]]));
    this.onRelease();
  }

  pixelOf(tip) {
    return this.toPixel(this.origin.map((value, axis) => value + this.scale * tip[axis]));
  }

  toTip(pixel) {
    return this.toPlace(pixel).map((value, axis) => (value - this.origin[axis]) / this.scale);
  }

  place(j, { line, head, handle }) {
    const [x1, y1] = this.toPixel(this.origin);
    const [x2, y2] = this.pixelOf(this.tips.get(j));
    for (const [name, value] of Object.entries({ x1, y1, x2, y2 })) line.setAttribute(name, value);
    head.setAttribute("transform", `translate(${x2} ${y2}) rotate(${(Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI})`);
    handle.setAttribute("cx", x2);
    handle.setAttribute("cy", y2);
    return [x1, y1, x2, y2];
  }

  // Places everything; the longest arrows get their names first.
  layout() {
    const { clientWidth: width, clientHeight: height } = this.node;
    this.node.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const heads = [...this.tips.values()].map((tip) => this.pixelOf(tip)).map(([x, y]) => [x - HEAD / 2, y - HEAD / 2, HEAD, HEAD]);
    const taken = [...this.takenBoxes(), ...heads];
    for (const j of this.tips.keys()) {
      const mark = this.marks.get(j);
      const [x1, y1, x2, y2] = this.place(j, mark);
      mark.width ||= mark.label.getComputedTextLength();
      const boxes = boxesAt(x2, y2, x2 < x1, [mark.width, LINE]);
      const free = Math.hypot(x2 - x1, y2 - y1) < SHORTEST ? null : freeBox(boxes, taken, { width, height });
      mark.label.classList.toggle("quiet", !free); // shown when the pointer is over its arrow
      const [left, top] = free ?? boxes[0];
      mark.aside = [left - x2, top + LINE - 4 - y2];
      mark.label.setAttribute("x", left);
      mark.label.setAttribute("y", top + LINE - 4);
      if (free) taken.push(free);
      this.describe(j, mark);
    }
  }

  describe(j, { group }) {
    const [across, upward] = this.tips.get(j).map((value) => value.toFixed(2).replace("-", "−"));
    const what = `${this.names[j]}: one standard deviation leads ${across} across and ${upward} up`;
    group.setAttribute("aria-label", `${what}. Arrow keys turn the picture by it.`);
    replace(group.querySelector("title"), `${what}. Drag the tip to turn the picture.`);
  }
}

// Where the name of an arrow may be: beyond its tip, else above or below it on the side of its shaft.
function boxesAt(x, y, isLeft, [width, height]) {
  const [leftward, rightward] = [x - width - 8, x + 8];
  const box = (left) => (line) => [left, y - height / 2 + line * height, width, height];
  return [
    ...[0, -1, 1, -2, 2].map(box(isLeft ? leftward : rightward)),
    ...[-1, 1, -2, 2].map(box(isLeft ? rightward : leftward)),
  ];
}

// How many arrows are shown.
export function arrowSlider(most, shown, onChange) {
  const input = element("input", { type: "range", id: "arrows", min: "0", max: String(most), value: String(shown) });
  const number = element("output", { for: "arrows" }, String(shown));
  input.addEventListener("input", () => {
    replace(number, input.value);
    onChange(Number(input.value));
  });
  return element("div", { class: "arrow-slider" }, element("label", { for: "arrows" }, "Arrows"), input, number);
}
