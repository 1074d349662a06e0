// The picture of a model: which components, which classes, rows of the fit or held out, and where new rows fall.

import { Curves } from "../charts/curves.js";
import { element, replace } from "../element.js";
import { plural } from "../words.js";
import { axisName, columnsOf, loadingsOn, shorten, strongestColumns } from "./axis_names.js";
import { arrowSlider } from "./arrows.js";
import { Cloud, HELD_OUT, NEW, SEEN } from "./cloud.js";
import { coloring } from "./coloring.js";
import { describePoint } from "./point_description.js";
import { Flat } from "./flat.js";
import { Inquiry } from "./inquiry.js";
import { Legend } from "./legend.js";
import { drawnRows, heldOutRows, projectedRows } from "./points_of.js";
import { Selecting } from "./selecting.js";
import { Selection } from "./selection.js";
import { SeparationMeter } from "./separation_meter.js";
import { Solid } from "./solid.js";
import { Turning } from "./turning.js";

const NAMED_FROM = 10; // from so many classes on colors repeat, so that names are shown in the picture
const ARROWS = 6; // shown at first
const MOST_ARROWS = 30;
const WEIGHTY = 8; // columns that are shown first for a row
const LONGEST = 1000; // characters of a selection in an address
const STILL = 300; // milliseconds without a change

export class Picture {
  // `source` loads the rows, if they are available. `said` is an earlier state to restore; `onState` gets each new state.
  constructor(model, plot, source, said = {}, onState = () => {}) {
    Object.assign(this, { model, plot, source, said, onState });
    this.columns = columnsOf(model);
    this.weighty = strongestColumns(model, WEIGHTY);
    this.seen = drawnRows(plot);
    this.heldOut = heldOutRows(plot);
    this.added = [];
    this.hidden = new Set((said.hide ?? "").split(",").filter(Boolean).map(Number));
    this.kind = said.rows === "held out" && this.heldOut.codes.length ? HELD_OUT : SEEN;
    this.coloredBy = "";
    this.tool = "move";
    this.selection = new Selection();
    this.selection.onChange(() => this.mark());
    this.inquiry = new Inquiry(this);
    this.frame = element("div", { class: "frame" });
    this.tools = element("div", { class: "tools" });
    this.legend = new Legend(this);
    this.node = element(
      "div",
      { class: "picture" },
      this.inquiry.node,
      this.frame,
      this.legend.node,
      this.tools,
      this.legend.remarks,
    );
    this.firstChoice = plot.n_components === 3 ? "space" : 0;
    const view = this.choices.map(([value]) => value).find((value) => String(value) === said.view);
    this.choose(view ?? this.firstChoice);
    this.node.setAttribute("aria-busy", "true");
    this.ready = this.load().finally(() => this.node.removeAttribute("aria-busy"));
  }

  // Loads all rows and their values.
  async load() {
    this.features = await this.source.features();
    if (this.isDisposed || !this.features) return;
    this.seen = projectedRows(this.features, this.model);
    const isFocused = this.frame.contains(document.activeElement);
    this.choose(this.choice);
    if (isFocused) this.frame.querySelector("canvas")?.focus();
    this.table = await this.source.table();
    if (this.isDisposed) return;
    if (this.said.color) this.colorBy(this.said.color);
    this.inquiry.offer();
    if (this.said.select) this.inquiry.select(this.said.select);
    this.said = {};
  }

  // The state of the picture, for the URL.
  get state() {
    const { stage, selection, hidden } = this;
    const isZoomed = stage instanceof Flat && !stage.isHome;
    return {
      ...(this.choice !== this.firstChoice && { view: String(this.choice) }),
      ...(this.kind === HELD_OUT && { rows: "held out" }),
      ...(this.coloredBy && { color: this.coloredBy }),
      ...(hidden.size > 0 && { hide: [...hidden].join(",") }),
      ...(this.turning?.way.length > 0 && this.turning.told.length < LONGEST && { turn: this.turning.told }),
      ...(selection.definition.length > 0 && selection.definition.length < LONGEST && { select: selection.definition }),
      ...(isZoomed && { zoom: [...stage.x, ...stage.y].map((value) => Number(value.toPrecision(5))).join(",") }),
    };
  }

  // After the picture has come to rest: publishes its state, and counts the rows that are not visible.
  tell() {
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      if (this.isDisposed) return;
      this.legend.countFar();
      if (!("select" in this.said)) this.onState(this.state);
    }, STILL);
  }

  // Switches between rows of the fit and held-out rows.
  setKind(kind) {
    this.kind = kind;
    this.choose(this.choice);
  }

  // The views to choose from: three dimensions, or pairs of components.
  get choices() {
    const pairs = this.plot.panels.map(({ x_label: x, y_label: y }, index) => [index, `${x} and ${y}`]);
    return this.plot.n_components === 3 ? [["space", "in space"], ...pairs] : pairs;
  }

  // Whether there is a point for each row; one component is drawn as curves.
  get hasPoints() {
    return this.plot.n_components > 1;
  }

  get label() {
    const classes = plural(this.model.classes.length, "class", "classes");
    const keys = "Arrow keys move, plus and minus zoom, zero shows everything.";
    return `The ${classes} ${this.model.classes.slice(0, 12).join(", ")} in ${plural(this.plot.n_components, "component")}. ${keys}`;
  }

  choose(choice) {
    this.close();
    this.choice = choice;
    const panel = this.plot.panels[choice === "space" ? 0 : choice];
    try {
      if (this.plot.n_components === 1) this.stage = new Curves(panel, this.axisNames()[0], this.label);
      else if (choice === "space") this.stage = new Solid(this.cloud(), this.axisNames(), this.strongest(), this.label);
      else this.stage = new Flat(this.cloud(), panel, this.axisNames(), this.label);
    } catch (error) {
      if (error.message !== "no WebGL") throw error;
      const text = "This browser has no WebGL, which the picture needs. The SVG file below shows the same.";
      replace(this.frame, element("p", { class: "trouble" }, text));
      return;
    }
    this.nameClasses();
    replace(this.frame, this.stage.node);
    this.stage.layouts?.push(() => this.tell());
    this.mark();
    this.offerTurning();
    this.zoomAsSaid();
    this.legend.explain();
    if (this.stage instanceof Curves) return;
    this.selecting = new Selecting(this.stage, (...chosen) => this.select(...chosen));
    this.selecting.setTool(this.tool);
  }

  zoomAsSaid() {
    const zoom = (this.said.zoom ?? "").split(",").map(Number);
    if (!(this.stage instanceof Flat) || zoom.length !== 4 || !zoom.every(Number.isFinite)) return;
    [this.stage.x, this.stage.y] = [zoom.slice(0, 2), zoom.slice(2)];
    this.stage.draw();
  }

  // Shows class names in the picture if colors repeat.
  nameClasses() {
    const isNeeded = this.coloredBy || this.model.classes.length > NAMED_FROM;
    if (this.stage instanceof Flat) this.stage.nameClasses(isNeeded ? this.model.classes.map((label) => shorten(String(label))) : null);
  }

  // Sets what dragging does: move the picture, or select rows.
  setTool(tool) {
    this.tool = tool;
    this.selecting?.setTool(tool);
  }

  // Selects rows. The definition of the selection lists a few rows by number, many by their outline.
  select(indexes, words, outline) {
    const { stage } = this;
    const rows = indexes.map((index) => stage.cloud.rows[index]).filter((row) => row >= 0);
    const each = `rows:${rows.join(",")}`;
    const corners = () => outline.flatMap((pixel) => stage.toPlace(pixel).map((value) => Number(value.toPrecision(6))));
    const isLong = each.length > LONGEST && outline && stage instanceof Flat;
    this.selection.choose(rows, words, isLong ? `area:${this.turning?.told ?? ""}:${corners().join(",")}` : each);
  }

  // Fades all rows but the selected ones, and colors points by a column, if one is chosen.
  mark() {
    const { selection } = this;
    const cloud = this.stage?.cloud;
    if (this.stage instanceof Curves) this.stage.setChosen(this.chosenPlaces());
    if (cloud) {
      cloud.selected = selection.size ? Uint8Array.from(cloud.rows, (row) => selection.has(row)) : null;
      cloud.colors = this.painted ? Uint8Array.from(this.colorsOf(cloud)) : null;
    }
    this.apply();
  }

  // Where the selected rows are on the only axis.
  chosenPlaces() {
    const { Z, codes, rows } = this.seen;
    return Array.from(rows, (row, index) => ({ row, place: Z[index], code: codes[index] })).filter(({ row }) => this.selection.has(row));
  }

  *colorsOf({ rows }) {
    for (const row of rows) yield* row < 0 ? [0, 0, 0] : this.painted.bytes(row);
  }

  // Colors points by a column of the table, by its name; without one by class.
  colorBy(name) {
    const column = this.table?.columns.find((each) => each.name === name);
    this.coloredBy = column ? name : "";
    this.painted = column && coloring(column);
    replace(this.legend.scale, this.painted?.legend);
    this.node.classList.toggle("colored", Boolean(column));
    this.nameClasses();
    this.mark();
  }

  // Highlights the point of a row.
  pointAt(row) {
    const index = this.stage?.cloud?.rows.indexOf(row) ?? -1;
    if (index >= 0 && this.stage.isShown(index)) this.stage.describe(index);
  }

  // The true and the predicted class of held-out rows.
  get confused() {
    const { codes, rows, predicted } = this.heldOut;
    return Array.from(codes, (code, index) => ({ code, row: rows[index], taken: predicted[index] })).filter(
      ({ row }) => row >= 0,
    );
  }

  close() {
    this.turning?.dispose();
    this.turning = null;
    this.stage?.dispose();
  }

  dispose() {
    this.isDisposed = true;
    this.close();
  }

  // Adds the arrows that rotate the picture, if it has two components and the rows are loaded.
  offerTurning() {
    replace(this.tools);
    if (!this.features || this.plot.n_components !== 2 || !(this.stage instanceof Flat)) return;
    const most = Math.min(MOST_ARROWS, this.model.projection.length);
    const shown = Math.min(ARROWS, most);
    if (this.kind !== SEEN) return;
    const meter = new SeparationMeter(this.model.card.in_sample?.divergence, {
      onBack: () => this.turning.back(!isStill()),
      onPlay: isStill() ? null : () => this.turning.playFromPrincipal(),
    });
    const { stage, features, model, columns, source } = this;
    this.turning = new Turning({ stage, features, model, columns, source, onSeparation: (found) => meter.show(found) });
    this.turning.showArrows(shown);
    meter.show(this.turning.best);
    if (this.said.turn) this.turning.follow(this.said.turn);
    replace(
      this.tools,
      meter.node,
      arrowSlider(most, shown, (number) => this.turning.showArrows(number)),
    );
  }

  get axes() {
    if (this.choice === "space") return [0, 1, 2];
    const { x_label: x, y_label: y } = this.plot.panels[this.choice ?? 0];
    return this.plot.n_components === 1 ? [0] : [x, y].map((name) => Number(name.slice(1)));
  }

  axisNames() {
    const { loadings } = this.model.card;
    return this.axes.map((axis) =>
      loadings?.length
        ? axisName(loadingsOn(axis, this.model), this.columns)
        : `z${axis}`,
    );
  }

  // The variables with the longest arrows, in three dimensions.
  strongest() {
    const { loadings, features } = this.model.card;
    return (loadings ?? [])
      .map((row, j) => ({ name: shorten(features[j]), tip: this.axes.map((axis) => row[axis]) }))
      .sort((a, b) => Math.hypot(...b.tip) - Math.hypot(...a.tip))
      .slice(0, ARROWS);
  }

  cloud() {
    const { Z, codes, rows, predicted } = this.kind === SEEN ? this.seen : this.heldOut;
    const { added, axes, model } = this;
    const k = model.projection[0].length;
    const n = codes.length;
    const kinds = new Uint8Array(n + added.length).fill(this.kind, 0, n).fill(NEW, n);
    const describe = (index) => {
      const isNew = index >= n;
      const point = isNew
        ? { row: -1, ...added[index - n] }
        : { z: Z.subarray(k * index, k * index + k), code: codes[index], row: rows[index], predicted: predicted?.[index] };
      return describePoint({ ...point, kind: kinds[index] }, this);
    };
    return new Cloud({
      places: Float64Array.from([...Z, ...added.flatMap(({ z }) => z)]),
      k,
      axes: this.plot.n_components === 2 ? [0, 1] : axes,
      codes: Int32Array.from([...codes, ...added.map(({ code }) => code)]),
      kinds,
      rows: Int32Array.from([...rows, ...added.map(() => -1)]),
      describe,
    });
  }

  // Rows of the fit as they are shown: { Z, codes, rows }, turned where the picture is.
  get shownRows() {
    return this.turning && !this.turning.isOptimum ? { ...this.seen, Z: this.turning.places() } : this.seen;
  }

  addRows(rows) {
    this.added = rows;
    if (this.stage instanceof Curves) this.stage.setMarks(rows.map(({ z }) => z[0]));
    else if (this.stage) this.choose(this.choice);
  }

  apply() {
    this.stage?.setHidden(this.hidden);
  }
}

const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
