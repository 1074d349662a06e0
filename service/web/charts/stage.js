// Where a picture is drawn: axes below, points, lines above them, a tooltip, buttons and keys. What is drawn is the subclass's.

import { element, svg } from "../element.js";
import { PointLayer } from "./points.js";
import { bytesOf, colorOf, shapeOf } from "./palette.js";

const REACH = 14; // pixels within which the pointer finds a point
const SIZES = { seen: 7, "held out": 9, new: 15 };
const CROWD = 3000; // points; more are drawn smaller and fainter

export class Stage {
  // `cloud` is { positions (3 a point), codes, kinds, describe(index) }; `label` says in words what can be seen.
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
    this.canvas.addEventListener("pointerdown", (event) => this.grab(event));
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => (this.tooltip.hidden = true));
    this.canvas.addEventListener("keydown", (event) => this.press(event));
    this.canvas.addEventListener("wheel", (event) => this.turn(event), { passive: false });
    this.resizing = new ResizeObserver(() => this.draw());
    this.resizing.observe(this.node);
    this.show();
  }

  dispose() {
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

  setHidden(codes, kinds) {
    this.hidden = codes;
    this.hiddenKinds = kinds;
    this.show();
  }

  setCloud(cloud) {
    this.cloud = cloud;
    this.show();
  }

  isShown(index) {
    const kind = this.cloud.kinds[index];
    return kind === "new" || !(this.hidden.has(this.cloud.codes[index]) || this.hiddenKinds?.has(kind));
  }

  show() {
    const { positions, codes, kinds } = this.cloud;
    const shown = [...codes.keys()].filter((index) => this.isShown(index));
    const shrink = shown.length > CROWD ? 0.6 : 1;
    this.node.classList.toggle("crowded", shown.length > 4 * CROWD);
    const ink = bytesOf(getComputedStyle(document.documentElement).getPropertyValue("--ink").trim());
    this.layer.setPoints({
      positions: Float32Array.from(shown.flatMap((index) => [...positions.subarray(3 * index, 3 * index + 3)])),
      colors: Uint8Array.from(
        shown.flatMap((index) => (kinds[index] === "new" ? ink : bytesOf(colorOf(codes[index])))),
      ),
      styles: Float32Array.from(
        shown.flatMap((index) => {
          const kind = kinds[index];
          return [
            kind === "new" ? 2 : shapeOf(codes[index]),
            kind === "seen" ? 0 : 1,
            SIZES[kind] * (kind === "new" ? 1 : shrink),
          ];
        }),
      ),
    });
    this.opacity = Math.max(0.25, 0.72 * Math.min(1, Math.sqrt(CROWD / shown.length)));
    this.draw();
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      if (!this.node.clientWidth) return;
      this.layer.draw(this.view(), this.opacity);
      this.drawLines();
    });
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
      this.drag(event.offsetX - this.held[0], event.offsetY - this.held[1]);
      this.held = [event.offsetX, event.offsetY];
      this.tooltip.hidden = true;
    } else {
      this.hover(event.offsetX, event.offsetY);
    }
  }

  hover(x, y) {
    const place = this.placement();
    let nearest = -1,
      least = REACH ** 2;
    for (let index = 0; index < this.cloud.codes.length; index += 1) {
      const [left, top] = place(index);
      const distance = (left - x) ** 2 + (top - y) ** 2;
      if (distance < least && this.isShown(index)) [nearest, least] = [index, distance];
    }
    this.tooltip.hidden = nearest < 0;
    if (nearest < 0) return;
    const [left, top] = place(nearest);
    this.tooltip.replaceChildren(...this.cloud.describe(nearest));
    this.tooltip.classList.toggle("leftward", left > this.node.clientWidth / 2);
    this.tooltip.classList.toggle("upward", top > this.node.clientHeight / 2);
    this.tooltip.style.setProperty("left", `${left}px`);
    this.tooltip.style.setProperty("top", `${top}px`);
  }

  turn(event) {
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
