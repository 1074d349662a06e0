// Two components: points over the contours of the class densities, with the decision boundary.

import { replace, svg } from "../element.js";
import { chain, scale, ticks } from "./axis.js";
import { colorOf } from "./palette.js";
import { Stage } from "./stage.js";

const MARGIN = { left: 48, right: 14, top: 14, bottom: 44 };

export class Flat extends Stage {
  constructor(cloud, panel, label) {
    super(cloud, label);
    this.panel = panel;
    this.contours = panel.series.map(({ contours }) =>
      contours.map(({ level, segments }) => ({ level, lines: chain(segments) })),
    );
    this.boundary = chain(panel.boundary);
    this.reset();
  }

  reset() {
    this.x = [...this.panel.x_range];
    this.y = [...this.panel.y_range];
    this.draw();
  }

  get size() {
    const { clientWidth: width, clientHeight: height } = this.node;
    return { width, height, right: width - MARGIN.right, bottom: height - MARGIN.bottom };
  }

  // Maps x and y to the part of the canvas inside the margins, in clip space.
  view() {
    const { width, height, right, bottom } = this.size;
    const toClipX = scale(this.x, [(2 * MARGIN.left) / width - 1, (2 * right) / width - 1]);
    const toClipY = scale(this.y, [1 - (2 * bottom) / height, 1 - (2 * MARGIN.top) / height]);
    const [x0, y0] = [toClipX(0), toClipY(0)];
    return Float32Array.of(toClipX(1) - x0, 0, 0, 0, 0, toClipY(1) - y0, 0, 0, 0, 0, 0, 0, x0, y0, 0, 1);
  }

  scales() {
    const { right, bottom } = this.size;
    return [scale(this.x, [MARGIN.left, right]), scale(this.y, [bottom, MARGIN.top])];
  }

  // Where the point of an index is, in pixels.
  placement() {
    const [toX, toY] = this.scales();
    const { positions } = this.cloud;
    return (index) => [toX(positions[3 * index]), toY(positions[3 * index + 1])];
  }

  drag(right, down) {
    const { width, height } = this.size;
    const shift = (range, share) => range.map((value) => value + share * (range[1] - range[0]));
    this.x = shift(this.x, -right / (width - MARGIN.left - MARGIN.right));
    this.y = shift(this.y, down / (height - MARGIN.top - MARGIN.bottom));
    this.draw();
  }

  zoom(factor, left = this.node.clientWidth / 2, top = this.node.clientHeight / 2) {
    const { right, bottom } = this.size;
    const centerX = scale([MARGIN.left, right], this.x)(left);
    const centerY = scale([bottom, MARGIN.top], this.y)(top);
    this.x = this.x.map((value) => centerX + (value - centerX) / factor);
    this.y = this.y.map((value) => centerY + (value - centerY) / factor);
    this.draw();
  }

  drawLines() {
    const { width, height, right, bottom } = this.size;
    const [toX, toY] = this.scales();
    const path = (lines) =>
      lines.map((line) => `M${line.map(([x, y]) => `${toX(x).toFixed(1)} ${toY(y).toFixed(1)}`).join("L")}`).join("");
    const contours = this.contours.flatMap((levels, code) =>
      this.hidden.has(code)
        ? []
        : levels.map(({ level, lines }) =>
            svg("path", {
              class: "contour",
              d: path(lines),
              stroke: colorOf(code),
              fill: colorOf(code),
              "stroke-opacity": 0.25 + 0.5 * level,
            }),
          ),
    );
    const columns = ticks(this.x, width / 90).map((value) => [
      svg("line", { class: "grid", x1: toX(value), x2: toX(value), y1: MARGIN.top, y2: bottom }),
      svg("text", { class: "tick", x: toX(value), y: bottom + 18, "text-anchor": "middle" }, String(value)),
    ]);
    const rows = ticks(this.y, height / 70).map((value) => [
      svg("line", { class: "grid", x1: MARGIN.left, x2: right, y1: toY(value), y2: toY(value) }),
      svg("text", { class: "tick", x: MARGIN.left - 8, y: toY(value) + 4, "text-anchor": "end" }, String(value)),
    ]);
    for (const layer of [this.below, this.above]) layer.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const frame = {
      x: MARGIN.left,
      y: MARGIN.top,
      width: Math.max(0, right - MARGIN.left),
      height: Math.max(0, bottom - MARGIN.top),
    };
    this.clipId ??= `clip-${Math.random().toString(36).slice(2)}`;
    replace(
      this.above,
      svg("clipPath", { id: this.clipId }, svg("rect", frame)),
      svg(
        "g",
        { "clip-path": `url(#${this.clipId})` },
        contours,
        svg("path", { class: "boundary", d: path(this.boundary) }),
      ),
    );
    replace(
      this.below,
      columns,
      rows,
      svg(
        "text",
        { class: "axis", x: (MARGIN.left + right) / 2, y: height - 6, "text-anchor": "middle" },
        this.panel.x_label,
      ),
      svg(
        "text",
        {
          class: "axis",
          x: 12,
          y: (MARGIN.top + bottom) / 2,
          "text-anchor": "middle",
          transform: `rotate(-90 12 ${(MARGIN.top + bottom) / 2})`,
        },
        this.panel.y_label,
      ),
    );
    this.canvas.style.setProperty(
      "clip-path",
      `inset(${MARGIN.top - 6}px ${MARGIN.right - 6}px ${MARGIN.bottom - 6}px ${MARGIN.left - 6}px)`,
    );
  }
}
