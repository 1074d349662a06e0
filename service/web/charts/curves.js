// One component: the density of each class along it.

import { element, replace, svg } from "../element.js";
import { scale, ticks } from "./axis.js";
import { colorOf } from "./palette.js";

const MARGIN = { left: 14, right: 14, top: 14, bottom: 44 };

export class Curves {
  constructor(panel, axis, label) {
    this.panel = panel;
    this.axis = axis;
    this.hidden = new Set();
    this.marks = [];
    this.chosen = [];
    this.lines = svg("svg", { role: "img", "aria-label": label });
    this.node = element("div", { class: "stage" }, this.lines);
    this.resizing = new ResizeObserver(() => this.draw());
    this.resizing.observe(this.node);
  }

  dispose() {
    this.resizing.disconnect();
  }

  setHidden(codes) {
    this.hidden = codes;
    this.draw();
  }

  // New rows, as places on the axis.
  setMarks(places) {
    this.marks = places;
    this.draw();
  }

  // Selected rows, as { place, code } on the axis.
  setChosen(rows) {
    this.chosen = rows;
    this.draw();
  }

  draw() {
    const { panel } = this;
    const { clientWidth: width, clientHeight: height } = this.node;
    const bottom = height - MARGIN.bottom;
    const toX = scale(panel.x_range, [MARGIN.left, width - MARGIN.right]);
    const toY = scale(panel.y_range, [bottom, MARGIN.top]);
    const curves = panel.series.map(({ curve }, code) => {
      if (this.hidden.has(code)) return null;
      const line = curve.map(([x, y]) => `${toX(x).toFixed(1)} ${toY(y).toFixed(1)}`).join("L");
      const closed = `M${line}L${toX(panel.x_range[1])} ${bottom}L${toX(panel.x_range[0])} ${bottom}Z`;
      return svg("path", {
        d: closed,
        fill: colorOf(code),
        "fill-opacity": 0.2,
        stroke: colorOf(code),
        "stroke-width": 1.6,
      });
    });
    this.lines.setAttribute("viewBox", `0 0 ${width} ${height}`);
    replace(
      this.lines,
      svg("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: bottom, y2: bottom }),
      ticks(panel.x_range, width / 90).map((value) =>
        svg("text", { class: "tick", x: toX(value), y: bottom + 18, "text-anchor": "middle" }, String(value)),
      ),
      curves,
      this.chosen.map(({ place, code }) => svg("path", { class: "chosen", d: `M${toX(place).toFixed(1)} ${bottom}v-14`, stroke: colorOf(code) })),
      this.marks.map((place) => svg("path", { class: "mark", d: `M${toX(place)} ${bottom}l-6 10h12z` })),
      svg("text", { class: "axis", x: width / 2, y: height - 4, "text-anchor": "middle" }, this.axis),
    );
  }
}
