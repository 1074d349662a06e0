// The rotation of a picture by arrows: the shown frame, the arrows, and the separation of the classes.

import { axisName, featureNames } from "./axis_names.js";
import { Arrows } from "./arrows.js";
import { Geodesic } from "./geodesic.js";
import { leadingPlane } from "./principal_axes.js";
import { kernelWidth } from "./separation.js";
import { Frame, Turn } from "./tour.js";

const DURATION = 1400; // milliseconds of a way along a geodesic
const MEASURED = 20_000; // rows that a separation is computed from while the picture moves
const LENGTH = 0.42; // of the picture, for the longest arrow
const INSIDE = 0.97; // of the way to the border that an arrow may take
const SETTLED = 250; // milliseconds after the last key until the exact separation is requested

export class Turning {
  // `features` are those of the source, in the order of the picture's points; `model` is the model's description.
  // `onSeparation({ value, score, isExact, isOptimum })` is called while the picture turns.
  constructor({ stage, features, model, columns, source, onSeparation }) {
    Object.assign(this, { stage, features, model, columns, source, onSeparation });
    const { scale, center } = features;
    const { projection: V, offset } = model;
    this.optimum = Frame.of([0, 1].map((axis) => Float64Array.from(V, (row, j) => row[axis] * scale[j])));
    this.shift = [0, 1].map((axis) => V.reduce((sum, row, j) => sum + row[axis] * (center[j] - offset[j]), 0));
    this.optimumCoordinates = this.optimum.coordinates(features.X);
    this.frame = this.optimum;
    this.coordinates = this.optimumCoordinates;
    this.arrows = new Arrows({
      names: featureNames(model),
      origin: this.shift,
      toPixel: (place) => stage.toPixel(place),
      toPlace: (pixel) => stage.toPlace(pixel),
      takenBoxes: () => stage.takenBoxes,
      onGrab: (j) => this.grab(j),
      onMove: (j, tip) => this.move(tip),
      onRelease: () => this.release(),
    });
    stage.node.append(this.arrows.node);
    stage.layouts.push(() => this.arrows.layout());
    this.worker = source.worker();
    this.worker.onmessage = ({ data }) => this.hear(data);
    this.sample = sampleOf(this.coordinates.length / 2);
    this.nShown = 0;
    this.asked = 0;
    this.way = []; // from the fitted picture to the shown one: variables, and where their tips were moved
  }

  dispose() {
    cancelAnimationFrame(this.playing);
    clearTimeout(this.settling);
    this.worker.terminate();
  }

  get isOptimum() {
    return this.frame === this.optimum;
  }

  // V of the picture that is shown, one row a feature.
  get projection() {
    const { scale } = this.features;
    const columns = this.frame.columns;
    return Array.from(scale, (size, j) => columns.map((column) => (size > 0 ? column[j] / size : 0)));
  }

  // The longest arrows, as long as the picture has room for.
  showArrows(count) {
    this.nShown = count;
    const ranges = [this.stage.x, this.stage.y];
    const arrows = Array.from({ length: this.frame.size }, (_, j) => {
      const tip = this.frame.tip(j);
      return { j, tip, share: Math.hypot(...tip.map((value, axis) => value / (ranges[axis][1] - ranges[axis][0]))) };
    });
    arrows.sort((a, b) => b.share - a.share);
    const shown = arrows.slice(0, count);
    const wayOut = ({ tip }) => Math.min(...tip.map((value, axis) => (ranges[axis][value > 0 ? 1 : 0] - this.shift[axis]) / value).filter((way) => way > 0));
    this.arrows.scale = Math.min(LENGTH / (arrows[0].share || 1), INSIDE * Math.min(...shown.map(wayOut)));
    this.arrows.show(shown);
  }

  grab(j) {
    this.stop();
    const turn = new Turn(this.frame, j);
    if (!turn.isPossible) return false;
    this.begin(turn, turn.spread(this.features.X, this.coordinates));
    this.step = { j, tip: this.frame.tip(j) };
    this.Q = turn.toward(this.step.tip);
    return true;
  }

  begin(turn, spread) {
    this.turn = turn;
    this.stage.setSpread(spread);
    this.stage.hideModel();
    const places = new Float32Array(4 * this.sample.length);
    this.sample.forEach((row, at) => places.set(spread.subarray(4 * row, 4 * row + 4), 4 * at));
    this.worker.postMessage({ places, codes: this.sample.map((row) => this.features.codes[row]), widths: this.widths });
  }

  get widths() {
    const { card, classes } = this.model;
    const counts = card.data?.class_counts ?? classes.map(() => this.features.codes.length / classes.length);
    return counts.map((count) => kernelWidth(count, card.gamma));
  }

  move(tip) {
    this.step.tip = tip;
    this.Q = this.turn.toward(tip);
    this.showTurn(this.turn.matrix(this.Q), (j) => this.turn.tip(j, this.Q));
  }

  showTurn(matrix, tipOf, home) {
    this.stage.turnTo(matrix, this.shift, home);
    this.arrows.turn(tipOf);
    this.measure(matrix);
  }

  // One request at a time; of those that are queued only the last is sent.
  measure(matrix) {
    if (this.isMeasuring) return void (this.waiting = matrix);
    this.isMeasuring = true;
    this.waiting = null;
    this.worker.postMessage({ matrix });
  }

  hear({ value }) {
    this.isMeasuring = false;
    if (!this.turn) return;
    this.onSeparation({ value, isExact: false, isOptimum: false });
    if (this.waiting) this.measure(this.waiting);
  }

  release() {
    if (!this.turn) return;
    this.way.push(this.step);
    this.settle(this.turn.end(this.Q));
  }

  // The way to the shown picture, as text for the URL.
  get told() {
    return this.way.map(({ j, tip }) => [j, ...tip.map((value) => Number(value.toPrecision(4)))].join(",")).join(";");
  }

  // Goes such a way at once.
  follow(told) {
    const end = this.endOf(told);
    if (!end) return;
    this.way = end.way;
    this.settle(end.frame);
  }

  // Where such a way leads: { frame, way }, or null where it is not one.
  endOf(told) {
    const way = [];
    let frame = this.optimum;
    for (const step of told.split(";").filter(Boolean)) {
      const [j, ...tip] = step.split(",").map(Number);
      if (tip.length !== 2 || ![...tip, ...frame.tip(j)].every(Number.isFinite)) return null;
      const turn = new Turn(frame, j);
      if (!turn.isPossible) return null;
      frame = turn.end(turn.toward(tip));
      way.push({ j, tip });
    }
    return { frame, way };
  }

  // Where such a way takes the rows, two numbers each.
  placesAfter(told) {
    const end = this.endOf(told);
    return end && this.places(end.frame.coordinates(this.features.X));
  }

  // Shows a final frame: recomputes the positions of all rows, and requests the exact separation.
  settle(frame) {
    this.turn = null;
    this.frame = frame;
    if (this.isOptimum) this.way = [];
    this.coordinates = frame === this.optimum ? this.optimumCoordinates : frame.coordinates(this.features.X);
    this.stage.setPositions(this.places(), this.isOptimum, this.axisNames());
    if (this.isOptimum) this.showArrows(this.nShown);
    else this.arrows.show([...this.arrows.tips.keys()].map((j) => ({ j, tip: frame.tip(j) })));
    clearTimeout(this.settling);
    if (this.isOptimum) return this.onSeparation(this.best);
    this.onSeparation({ isExact: false, isOptimum: false });
    this.settling = setTimeout(() => this.askExactly(), SETTLED);
  }

  // What the model itself reaches.
  get best() {
    const { divergence, leave_one_out_balanced_accuracy: score } = this.model.card.in_sample ?? {};
    return { value: divergence, score, isExact: true, isOptimum: true };
  }

  async askExactly() {
    const asked = (this.asked += 1);
    const { frame } = this;
    const { divergence, leave_one_out_balanced_accuracy: score } = await this.source.separation(this.projection);
    if (asked !== this.asked || frame !== this.frame || this.turn) return;
    this.onSeparation({ value: divergence, score, isExact: true, isOptimum: false });
  }

  // Picture coordinates of all rows, two numbers each.
  places(coordinates = this.coordinates) {
    const { R } = this.frame;
    const { shift } = this;
    const places = new Float64Array(coordinates.length);
    for (let at = 0; at < places.length; at += 2) {
      for (let axis = 0; axis < 2; axis += 1) {
        places[at + axis] = coordinates[at] * R[0][axis] + coordinates[at + 1] * R[1][axis] + shift[axis];
      }
    }
    return places;
  }

  axisNames() {
    return this.frame.columns.map((weights) => axisName(weights, this.columns));
  }

  // The plane of PCA, at the scale of the model's plane.
  get principal() {
    this.leading ??= new Frame(leadingPlane(this.features.X, this.frame.size, this.optimum.W), this.optimum.R);
    return this.leading;
  }

  back(isAnimated) {
    this.travel(this.frame, this.optimum, isAnimated);
  }

  playFromPrincipal() {
    this.travel(this.principal, this.optimum, true);
  }

  travel(from, to, isAnimated) {
    this.stop();
    if (!isAnimated) return this.settle(to);
    const way = new Geodesic(from, to);
    const ends = [from, to].map((frame) => frame.coordinates(this.features.X));
    const homes = ends.map((coordinates) => this.stage.limits(inSpace(this.places(coordinates))));
    this.begin(way, way.spread(...ends));
    let begin = null;
    const step = (now) => {
      begin ??= now;
      const share = Math.min(1, (now - begin) / DURATION);
      const eased = share * share * (3 - 2 * share);
      this.showTurn(way.matrix(eased), (j) => way.tip(j, eased), between(...homes, eased));
      if (share < 1) this.playing = requestAnimationFrame(step);
      else this.settle(to);
    };
    this.playing = requestAnimationFrame(step);
  }

  stop() {
    cancelAnimationFrame(this.playing);
    clearTimeout(this.settling);
    if (this.turn instanceof Geodesic) this.settle(this.turn.to);
  }
}

// Pairs of numbers as triples.
const inSpace = (places) => Float32Array.from({ length: (3 * places.length) / 2 }, (_, at) => (at % 3 < 2 ? places[(2 * (at - (at % 3))) / 3 + (at % 3)] : 0));

const between = (from, to, share) =>
  from.map((range, axis) => range.map((value, end) => value + share * (to[axis][end] - value)));

// Rows spread evenly over all of them.
function sampleOf(n) {
  const size = Math.min(n, MEASURED);
  return Int32Array.from({ length: size }, (_, index) => Math.floor((index * n) / size));
}
