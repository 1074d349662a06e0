// Two components: points over the contours of the class densities, with the decision boundary.

import { replace, svg } from "../element.js";
import { chain, scale, ticks } from "../charts/axis.js";
import { shorten } from "./axis_names.js";
import { SEEN } from "./cloud.js";
import { highestDensity } from "./density.js";
import { freeBox } from "./labels.js";
import { limitsOf } from "./limits.js";
import { colorOf } from "../charts/palette.js";
import { REACH, Stage } from "./stage.js";

const MANY = 0.01; // share of the rows at the border from which a rotated picture gets new limits
const LETTER = 8; // pixels of a letter in the name of a class, about
const AXIS_LETTER = 6.6; // and in the name of an axis
const LINE = 17; // pixels from one name to the next
const BUTTONS = [106, 44]; // pixels that the buttons take in their corner
const MARGIN = { left: 48, right: 14, top: 14, bottom: 44 };

export class Flat extends Stage {
  // `axes` are the two names; `panel` has contours and boundary.
  constructor(cloud, panel, axes, label) {
    super(cloud, label);
    this.axes = axes;
    this.contours = panel.series.map(({ contours }) =>
      contours.map(({ level, segments }) => ({ level, lines: chain(segments) })),
    );
    this.boundary = chain(panel.boundary);
    this.nameBoxes = []; // where the names of classes stand
    this.isModel = true; // whether the projection of the model is shown, for which the contours are valid
    this.reset();
  }

  reset() {
    this.lookAt(this.limits());
    this.draw();
  }

  get isHome() {
    return [this.x, this.y].every((range, axis) => range.every((value, end) => value === this.home[axis][end]));
  }

  // Shows a part of the plane, [[left, right], [low, high]]; points beyond it are drawn at its border.
  lookAt(home) {
    this.home = home;
    [this.x, this.y] = home.map((range) => [...range]);
  }

  // Invalidates the caches, after a change of colors or rows.
  show() {
    super.show();
    this.found = {};
  }

  // The largest number of points on a pixel, if there are too many to tell them apart; else 0.
  pointsOnPixel() {
    if (!this.isCrowded) return 0;
    this.found.density ??= highestDensity(this.cloud.positions, this.order, this.home);
    const { right, bottom } = this.size;
    const unit = ((right - MARGIN.left) / (this.x[1] - this.x[0])) * ((bottom - MARGIN.top) / (this.y[1] - this.y[0]));
    return (this.found.density * Math.PI * (this.pointSize / 2) ** 2) / unit;
  }

  // Limits that contain nearly all rows; the few beyond are drawn at the border.
  limits(positions = this.cloud.positions) {
    const { codes, kinds } = this.cloud;
    const seen = [...codes.keys()].filter((index) => kinds[index] === SEEN);
    const own = seen.length ? seen : [...codes.keys()];
    return [0, 1].map((axis) =>
      limitsOf(
        own.map((index) => positions[3 * index + axis]),
        own.map((index) => codes[index]),
      ),
    );
  }

  // Shows all rows, including outliers.
  widen() {
    const { positions } = this.cloud;
    [this.x, this.y] = [0, 1].map((axis) => {
      let [low, high] = this.home[axis];
      for (const index of this.order) {
        low = Math.min(low, positions[3 * index + axis]);
        high = Math.max(high, positions[3 * index + axis]);
      }
      return [low - 0.03 * (high - low), high + 0.03 * (high - low)];
    });
    this.draw();
  }

  // The visible rows that are drawn at the border.
  get far() {
    const { positions } = this.cloud;
    const [left, right, low, high] = this.border();
    return this.order.filter((index) => {
      const x = positions[3 * index];
      const y = positions[3 * index + 1];
      return x < left || x > right || y < low || y > high;
    });
  }

  border() {
    return [this.x, this.y].flatMap(([low, high], axis) => [
      Math.min(low, this.home[axis][0]),
      Math.max(high, this.home[axis][1]),
    ]);
  }

  // Cached for each size: while arrows move, each query would force a layout of the page.
  get size() {
    if (this.known) return this.known;
    const { clientWidth: width, clientHeight: height } = this.node;
    const size = { width, height, right: width - MARGIN.right, bottom: height - MARGIN.bottom };
    if (width) this.known = size;
    return size;
  }

  resize() {
    this.known = null;
    super.resize();
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

  toPixel([x, y]) {
    const [toX, toY] = this.scales();
    return [toX(x), toY(y)];
  }

  // The place in the picture under a pixel.
  toPlace([left, top]) {
    const { right, bottom } = this.size;
    return [scale([MARGIN.left, right], this.x)(left), scale([bottom, MARGIN.top], this.y)(top)];
  }

  // Where the point of an index is, in pixels.
  locate(index, place) {
    const { positions } = this.cloud;
    const { right, bottom } = this.size;
    const [left, rightmost, low, high] = this.border();
    const x = Math.min(rightmost, Math.max(left, positions[3 * index]));
    const y = Math.min(high, Math.max(low, positions[3 * index + 1]));
    place[0] = MARGIN.left + ((x - this.x[0]) / (this.x[1] - this.x[0])) * (right - MARGIN.left);
    place[1] = bottom - ((y - this.y[0]) / (this.y[1] - this.y[0])) * (bottom - MARGIN.top);
    return place;
  }

  // Like `locate`, but without a query of the layout for each point.
  nearest(x, y) {
    const { positions } = this.cloud;
    const { right, bottom } = this.size;
    const [left, rightmost, low, high] = this.border();
    const [byX, byY] = [(right - MARGIN.left) / (this.x[1] - this.x[0]), (bottom - MARGIN.top) / (this.y[1] - this.y[0])];
    const [startX, startY] = [MARGIN.left - x - this.x[0] * byX, bottom - y + this.y[0] * byY];
    let [nearest, least] = [-1, REACH ** 2];
    for (let at = 0; at < this.order.length; at += 1) {
      const index = this.order[at];
      const across = startX + byX * Math.min(rightmost, Math.max(left, positions[3 * index]));
      const down = startY - byY * Math.min(high, Math.max(low, positions[3 * index + 1]));
      const distance = across * across + down * down;
      if (distance < least) [nearest, least] = [index, distance];
    }
    return nearest;
  }

  drag(right, down) {
    const { width, height } = this.size;
    const shift = (range, share) => range.map((value) => value + share * (range[1] - range[0]));
    this.x = shift(this.x, -right / (width - MARGIN.left - MARGIN.right));
    this.y = shift(this.y, down / (height - MARGIN.top - MARGIN.bottom));
    this.draw();
  }

  zoom(factor, left = this.node.clientWidth / 2, top = this.node.clientHeight / 2) {
    const [centerX, centerY] = this.toPlace([left, top]);
    this.x = this.x.map((value) => centerX + (value - centerX) / factor);
    this.y = this.y.map((value) => centerY + (value - centerY) / factor);
    this.draw();
  }

  // Sets four coordinates per point, which are projected by the matrix of `turnTo`; null ends this.
  setSpread(spread) {
    this.spread = spread;
    this.tooltip.hidden = true;
    if (!spread) this.layer.setTurn(null);
    this.layer.setPoints({ numbers: this.numbers() });
  }

  turnTo(matrix, shift, home = null) {
    this.layer.setTurn(matrix, shift);
    if (home) this.lookAt(home);
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      this.drawPoints();
      if (home) this.drawAxes();
    });
  }

  // While the picture is rotated, contours, boundary and axis names are not valid.
  hideModel() {
    this.above.replaceChildren();
    this.node.classList.add("turning");
  }

  // Positions of the rows, two numbers each. New rows are shown only in the projection of the model.
  setPositions(places, isModel, axes) {
    const { positions, kinds, original } = this.cloud;
    for (let index = 0; index < kinds.length; index += 1) {
      for (let axis = 0; axis < 2; axis += 1) {
        const own = isModel ? original[3 * index + axis] : NaN;
        positions[3 * index + axis] = kinds[index] === SEEN ? places[2 * index + axis] : own;
      }
    }
    this.found = {};
    this.isModel = isModel;
    this.axes = axes;
    this.node.classList.remove("turning");
    this.setSpread(null);
    if (isModel || this.far.length > MANY * kinds.length) this.lookAt(this.limits());
    this.draw();
  }

  // The class names to show in the picture; null for none.
  nameClasses(names) {
    this.classNames = names;
    this.found = {};
  }

  // Where the middle of each class is, if classes are named in the picture.
  centers() {
    if (!this.classNames) return [];
    return (this.found.centers ??= this.findCenters());
  }

  findCenters() {
    const { positions, codes } = this.cloud;
    const places = this.classNames.map(() => [[], []]);
    for (const index of this.order) for (const axis of [0, 1]) places[codes[index]][axis].push(positions[3 * index + axis]);
    return places.flatMap(([x, y], code) => (x.length ? [{ x: median(x), y: median(y), name: this.classNames[code] }] : []));
  }

  drawLines() {
    const { width, height } = this.size;
    for (const layer of [this.below, this.above]) layer.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.drawAxes();
    this.drawModel();
  }

  // Contours and boundary, and the names of the classes.
  drawModel() {
    const { right, bottom } = this.size;
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
              fill: lines.every(isClosed) ? colorOf(code) : "none", // a line that the border cuts has no inside
              "stroke-opacity": 0.25 + 0.5 * level,
            }),
          ),
    );
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
      this.isModel &&
        svg(
          "g",
          { "clip-path": `url(#${this.clipId})` },
          contours,
          svg("path", { class: "boundary", d: path(this.boundary) }),
        ),
      this.drawNames(toX, toY),
    );
  }

  // Places the name of each class at its center, or near it to avoid other names, or not at all if there is no room.
  drawNames(toX, toY) {
    this.nameBoxes = [];
    return this.centers().map(({ x, y, name }) => {
      const width = LETTER * name.length;
      const boxAt = (line, aside) => [toX(x) + (aside - 0.5) * width, toY(y) + (line - 0.5) * LINE, width, LINE];
      const boxes = [0, -0.6, 0.6].flatMap((aside) => [0, -1, 1, -2, 2].map((line) => boxAt(line, aside)));
      const free = freeBox(boxes, this.nameBoxes, this.size);
      if (!free) return null;
      this.nameBoxes.push(free);
      const [left, top] = free;
      return svg("text", { class: "class-name", x: left + width / 2, y: top + LINE - 4, "text-anchor": "middle" }, name);
    });
  }

  // Boxes that names must not cover: class names, axes, buttons.
  get takenBoxes() {
    const { width, height, bottom } = this.size;
    return [...this.nameBoxes, [0, 0, MARGIN.left, height], [0, bottom, width, MARGIN.bottom], [width - BUTTONS[0], 0, ...BUTTONS]];
  }

  drawAxes() {
    const { width, height, right, bottom } = this.size;
    const [toX, toY] = this.scales();
    const columns = ticks(this.x, width / 90).map((value) => [
      svg("line", { class: "grid", x1: toX(value), x2: toX(value), y1: MARGIN.top, y2: bottom }),
      svg("text", { class: "tick", x: toX(value), y: bottom + 18, "text-anchor": "middle" }, String(value)),
    ]);
    const rows = ticks(this.y, height / 70).map((value) => [
      svg("line", { class: "grid", x1: MARGIN.left, x2: right, y1: toY(value), y2: toY(value) }),
      svg("text", { class: "tick", x: MARGIN.left - 8, y: toY(value) + 4, "text-anchor": "end" }, String(value)),
    ]);
    const [across, upward] = this.axes;
    const [middle, center] = [(MARGIN.left + right) / 2, (MARGIN.top + bottom) / 2];
    const along = { class: "axis", "text-anchor": "middle" };
    replace(
      this.below,
      columns,
      rows,
      svg("text", { ...along, x: middle, y: height - 6 }, shortened(across, width - MARGIN.left)),
      svg("text", { ...along, x: 12, y: center, transform: `rotate(-90 12 ${center})` }, shortened(upward, height)),
    );
    this.canvas.style.setProperty(
      "clip-path",
      `inset(${MARGIN.top - 6}px ${MARGIN.right - 6}px ${MARGIN.bottom - 6}px ${MARGIN.left - 6}px)`,
    );
  }
}

const isClosed = (line) => line[0][0] === line.at(-1)[0] && line[0][1] === line.at(-1)[1];

// The name of an axis, truncated to the available room.
const shortened = (name, room) => shorten(name, Math.floor(room / AXIS_LETTER));

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
