// Three components: a point cloud that can be rotated.

import { replace, svg } from "../element.js";
import { freeBox } from "./labels.js";
import { limitsOf } from "./limits.js";
import { Stage } from "./stage.js";

const AXES = [
  [1, 0, 0],
  [0, 1, 0],
  [0, 0, 1],
];
const LETTER = 6.6; // pixels of a letter in the name of an axis, about
const LINE = 15;
const FILL = 0.58; // of the shorter side, for the half diagonal of the data's box

export class Solid extends Stage {
  // `axes` are the three names, `arrows` the variables with the largest loadings: [{ name, tip }].
  constructor(cloud, axes, arrows, label) {
    super(cloud, label);
    this.axes = axes;
    this.arrows = arrows;
    const bounds = [0, 1, 2].map((axis) =>
      limitsOf(
        cloud.positions.filter((_, index) => index % 3 === axis),
        cloud.codes,
      ),
    );
    this.center = bounds.map(([low, high]) => (low + high) / 2);
    this.extent = bounds.map(([low, high]) => (high - low) / 2 || 1);
    this.reset();
  }

  reset() {
    [this.yaw, this.pitch, this.magnification] = [0.6, 0.45, 1];
    this.draw();
  }

  drag(right, down) {
    this.yaw += right / 120;
    this.pitch = Math.max(-1.57, Math.min(1.57, this.pitch + down / 120));
    this.draw();
  }

  zoom(factor) {
    this.magnification *= factor;
    this.draw();
  }

  // A point of the unit box as [right, up, near], each about -1 to 1.
  rotate([x, y, z]) {
    const [sinYaw, cosYaw, sinPitch, cosPitch] = [
      Math.sin(this.yaw),
      Math.cos(this.yaw),
      Math.sin(this.pitch),
      Math.cos(this.pitch),
    ];
    const depth = y * cosYaw - x * sinYaw;
    return [x * cosYaw + y * sinYaw, z * cosPitch + depth * sinPitch, z * sinPitch - depth * cosPitch];
  }

  get stretch() {
    const { clientWidth: width, clientHeight: height } = this.node;
    const reach = FILL * this.magnification * Math.min(width, height);
    return [reach / width, reach / height];
  }

  view() {
    const [stretchX, stretchY] = this.stretch;
    const columns = AXES.map((axis, index) => this.rotate(axis).map((value) => value / this.extent[index]));
    const shift = [0, 1, 2].map(
      (row) => -columns.reduce((sum, column, axis) => sum + column[row] * this.center[axis], 0),
    );
    const clip = ([right, up, near]) => [right * stretchX, up * stretchY, -near * 0.2];
    return Float32Array.of(...columns.flatMap((column) => [...clip(column), 0]), ...clip(shift), 1);
  }

  toPixel(point) {
    const [right, up] = this.rotate(point);
    const [stretchX, stretchY] = this.stretch;
    const { clientWidth: width, clientHeight: height } = this.node;
    return [((right * stretchX + 1) / 2) * width, ((1 - up * stretchY) / 2) * height];
  }

  // Where the point of an index is, in pixels.
  locate(index, place) {
    const { positions } = this.cloud;
    const unit = [0, 1, 2].map((axis) => (positions[3 * index + axis] - this.center[axis]) / this.extent[axis]);
    [place[0], place[1]] = this.toPixel(unit);
    return place;
  }

  drawLines() {
    const line = (from, to) => {
      const [[x1, y1], [x2, y2]] = [this.toPixel(from), this.toPixel(to)];
      return svg("line", { class: "grid", x1, y1, x2, y2 });
    };
    const signs = [-1, 1];
    const edges = AXES.flatMap((_, axis) =>
      signs.flatMap((a) =>
        signs.map((b) =>
          [-1, 1].map((end) => [0, 1, 2].map((at) => (at === axis ? end : at === (axis + 1) % 3 ? a : b))),
        ),
      ),
    );
    const names = AXES.map((_, axis) => {
      const [x, y] = this.toPixel([-1, -1, -1].map((low, at) => (at === axis ? 1.14 : low)));
      const half = (LETTER * this.axes[axis].length) / 2;
      const inside = Math.max(half, Math.min(this.node.clientWidth - half, x));
      return svg("text", { class: "axis", x: inside, y, "text-anchor": "middle" }, this.axes[axis]);
    });
    this.below.setAttribute("viewBox", `0 0 ${this.node.clientWidth} ${this.node.clientHeight}`);
    replace(
      this.below,
      edges.map(([from, to]) => line(from, to)),
      names,
    );
    const longest = Math.max(...this.arrows.map(({ tip }) => Math.max(...tip.map((value, axis) => Math.abs(value / this.extent[axis])))));
    const [x1, y1] = this.toPixel([0, 0, 0]);
    const size = { width: this.node.clientWidth, height: this.node.clientHeight };
    const taken = [];
    this.above.setAttribute("viewBox", `0 0 ${this.node.clientWidth} ${this.node.clientHeight}`);
    replace(
      this.above,
      this.arrows.map(({ name, tip }) => {
        const [x2, y2] = this.toPixel(tip.map((value, axis) => value / this.extent[axis] / longest));
        const width = LETTER * name.length;
        const box = (line) => [x2 < x1 ? x2 - width : x2, y2 + (line - 0.5) * LINE, width, LINE];
        const free = freeBox([0, -1, 1, -2, 2].map(box), taken, size);
        if (free) taken.push(free);
        return [
          svg("line", { class: "shaft", x1, y1, x2, y2 }),
          free && svg("text", { class: "arrow-name", x: free[0], y: free[1] + LINE - 4 }, name),
        ];
      }),
    );
  }
}
