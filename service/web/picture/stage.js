// The base class of pictures: axes, points, lines above them, tooltip, buttons and keys. Subclasses define what is drawn.

import { element, svg } from "../element.js";
import { HELD_OUT, NEW, SEEN } from "./cloud.js";
import { bytesOf, colorOf, shapeOf } from "../charts/palette.js";
import { PointLayer } from "./points.js";

export const REACH = 14; // pixels within which the pointer finds a point
const SIZES = { [SEEN]: 7, [HELD_OUT]: 8, [NEW]: 15 };
const CROWD = 3000; // points; more are drawn smaller and fainter
const FADED = 40; // of 255: opacity of points that are not selected
const CHOSEN = 1.35; // times the size of the others, for selected points
const [FEW, LARGE] = [20, 11]; // few selected points are drawn this large, in pixels
const SELECTED = 0.85; // opacity of selected points
const DIAMOND = 2;

export class Stage {
  // `label` describes the picture for screen readers.
  constructor(cloud, label) {
    this.cloud = cloud;
    this.hidden = new Set();
    this.below = svg("svg", { "aria-hidden": "true" });
    this.above = svg("svg", { "aria-hidden": "true" });
    this.canvas = element("canvas", {
      tabindex: "0",
      role: "application",
      "aria-label": label,
      "aria-roledescription": "chart",
    });
    this.tooltip = element("div", { class: "tooltip", hidden: true });
    this.node = element("div", { class: "stage" }, this.below, this.canvas, this.above, this.tooltip, this.controls());
    this.layer = new PointLayer(this.canvas);
    this.layouts = []; // what else is drawn after the lines
    this.canvas.addEventListener("pointerdown", (event) => this.grab(event));
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => (this.tooltip.hidden = true));
    this.canvas.addEventListener("keydown", (event) => this.press(event));
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.resizing = new ResizeObserver(() => this.resize());
    this.resizing.observe(this.node);
    this.show();
  }

  resize() {
    this.layer.size = null;
    this.draw();
  }

  dispose() {
    cancelAnimationFrame(this.frame);
    this.resizing.disconnect();
    this.layer.dispose();
  }

  controls() {
    const control = (text, label, action) =>
      element("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
    return element(
      "div",
      { class: "stage-controls" },
      control("+", "Zoom in", () => this.zoom(1.5)),
      control("−", "Zoom out", () => this.zoom(1 / 1.5)),
      control("⟲", "Show everything", () => this.reset()),
    );
  }

  setHidden(codes) {
    this.hidden = codes;
    this.show();
  }

  setCloud(cloud) {
    this.cloud = cloud;
    this.show();
  }

  isShown(index) {
    return this.cloud.kinds[index] === NEW || !this.hidden.has(this.cloud.codes[index]);
  }

  // Uploads colors, shapes and positions to the graphics card; moving the picture does not change them.
  show() {
    const { codes, kinds, colors, selected } = this.cloud;
    const shown = this.cloud.order.filter((index) => this.isShown(index));
    const chosen = selected ? shown.filter((index) => selected[index]) : [];
    this.order = selected ? joined(shown.filter((index) => !selected[index]), chosen) : shown; // chosen ones on top
    const n = this.order.length;
    const shrink = n > CROWD ? 0.6 : 1;
    const thinness = Math.min(1, Math.sqrt(CROWD / n));
    this.isCrowded = n > 4 * CROWD && !selected;
    this.pointSize = SIZES[SEEN] * shrink;
    this.node.classList.toggle("crowded", this.isCrowded);
    const ink = bytesOf(getComputedStyle(document.documentElement).getPropertyValue("--ink").trim());
    const palette = new Map();
    const own = (index) => 10 * SIZES[kinds[index]] * (kinds[index] === NEW ? 1 : shrink);
    const large = (index) => (chosen.length <= FEW ? 10 * LARGE : CHOSEN * own(index));
    const faded = Math.max(FADED / 5, FADED * thinness);
    const [color, style] = [new Uint8Array(4 * n), new Uint8Array(4 * n)];
    this.order.forEach((index, at) => {
      const [code, kind] = [codes[index], kinds[index]];
      if (!palette.has(code)) palette.set(code, bytesOf(colorOf(code)));
      color.set(kind === NEW ? ink : colors ? colors.subarray(3 * index, 3 * index + 3) : palette.get(code), 4 * at);
      color[4 * at + 3] = !selected || selected[index] || kind === NEW ? 255 : faded;
      style[4 * at] = kind === NEW ? DIAMOND : colors ? 0 : shapeOf(code);
      style[4 * at + 1] = kind === SEEN ? 0 : 1;
      style[4 * at + 2] = selected?.[index] ? large(index) : own(index);
    });
    this.opacity = selected ? SELECTED : Math.max(0.25, 0.72 * thinness);
    this.layer.setPoints({ color, style, numbers: this.numbers() });
    this.draw();
  }

  // Four numbers a point, in the order in which points are drawn: x, y and z, unless a turn has its own. New rows have
  // none of these and are not drawn meanwhile.
  numbers() {
    const { positions } = this.cloud;
    const { order, spread } = this;
    const numbers = new Float32Array(4 * order.length);
    const [source, size] = spread ? [spread, 4] : [positions, 3];
    for (let at = 0; at < order.length; at += 1) {
      for (let axis = 0; axis < size; axis += 1) numbers[4 * at + axis] = source[size * order[at] + axis];
    }
    return numbers;
  }

  // Schedules a frame, which draws points, lines and overlays.
  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      if (!this.node.clientWidth) return;
      this.drawPoints();
      this.drawLines();
      for (const layout of this.layouts) layout();
    });
  }

  drawPoints() {
    this.layer.draw(this.view(), this.opacity, this.border?.(), this.pointsOnPixel?.());
  }

  grab(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.held = [event.offsetX, event.offsetY];
    const release = () => (this.held = null);
    this.canvas.addEventListener("pointerup", release, { once: true });
    this.canvas.addEventListener("pointercancel", release, { once: true });
  }

  point(event) {
    if (this.held) {
      if (this.isLocked) return;
      this.drag(event.offsetX - this.held[0], event.offsetY - this.held[1]);
      this.held = [event.offsetX, event.offsetY];
      this.tooltip.hidden = true;
    } else {
      this.hover(event.offsetX, event.offsetY);
    }
  }

  // The shown point nearest to a place, or -1.
  nearest(x, y) {
    const place = [0, 0];
    let nearest = -1,
      least = REACH ** 2;
    for (const index of this.order) {
      this.locate(index, place);
      const distance = (place[0] - x) ** 2 + (place[1] - y) ** 2;
      if (distance < least) [nearest, least] = [index, distance];
    }
    return nearest;
  }

  hover(x, y) {
    const nearest = this.spread ? -1 : this.nearest(x, y);
    this.tooltip.hidden = nearest < 0;
    if (nearest >= 0) this.describe(nearest);
  }

  // Shows the tooltip of a point.
  describe(index) {
    const [left, top] = this.locate(index, [0, 0]);
    this.tooltip.hidden = false;
    this.tooltip.replaceChildren(...this.cloud.describe(index));
    this.tooltip.classList.toggle("leftward", left > this.node.clientWidth / 2);
    this.tooltip.classList.toggle("upward", top > this.node.clientHeight / 2);
    this.tooltip.style.setProperty("left", `${left}px`);
    this.tooltip.style.setProperty("top", `${top}px`);
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return; // a plain wheel scrolls the page
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
  }

  press(event) {
    const moves = { ArrowLeft: [30, 0], ArrowRight: [-30, 0], ArrowUp: [0, 30], ArrowDown: [0, -30] };
    if (moves[event.key]) this.drag(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.5);
    else if (event.key === "-") this.zoom(1 / 1.5);
    else if (event.key === "0") this.reset();
    else return;
    event.preventDefault();
  }
}

function joined(first, second) {
  const result = new Uint32Array(first.length + second.length);
  result.set(first);
  result.set(second, first.length);
  return result;
}
