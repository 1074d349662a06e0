// The picture of a model: which components, which classes, in-sample or held-out points, and where new rows fall.

import { Curves } from "../charts/curves.js";
import { Flat } from "../charts/flat.js";
import { colorOf } from "../charts/palette.js";
import { Solid } from "../charts/solid.js";
import { element, replace } from "../element.js";
import { count, plural } from "../words.js";
import { toCloud } from "./cloud.js";

export class Picture {
  // `columns` are the names of the model's input, `table` the rows where they are in this browser.
  constructor(model, columns, plot, { points, total }, table) {
    Object.assign(this, { model, columns, plot, points, table });
    this.added = [];
    this.hidden = new Set();
    this.hiddenKinds = new Set();
    this.frame = element("div", { class: "frame" });
    const seen = points.filter(({ kind }) => kind === "seen").length;
    const shown = total > seen ? `${count(seen)} of ${count(total)} rows are drawn. ` : "";
    this.note = plot.n_components > 1 && `${shown}Drag to move or turn; Ctrl and wheel, or the buttons, zoom.`;
    this.node = element(
      "div",
      { class: "picture" },
      this.frame,
      this.legend(),
      element("p", { class: "hint" }, this.note),
    );
    this.choose(plot.n_components === 3 ? "space" : 0);
  }

  // How the picture can be looked at: in space, or one pair of components after the other.
  get choices() {
    const pairs = this.plot.panels.map(({ x_label: x, y_label: y }, index) => [index, `${x} and ${y}`]);
    return this.plot.n_components === 3 ? [["space", "in space"], ...pairs] : pairs;
  }

  get label() {
    const classes = plural(this.model.classes.length, "class", "classes");
    const keys = "Arrow keys move, plus and minus zoom, zero shows everything.";
    return `The ${classes} ${this.model.classes.slice(0, 12).join(", ")} in ${plural(this.plot.n_components, "component")}. ${keys}`;
  }

  choose(choice) {
    this.dispose();
    this.choice = choice;
    const panel = this.plot.panels[choice === "space" ? 0 : choice];
    try {
      if (this.plot.n_components === 1) this.stage = new Curves(panel, this.label);
      else if (choice === "space") this.stage = new Solid(this.cloud(), this.label);
      else this.stage = new Flat(this.cloud(), panel, this.label);
    } catch {
      replace(
        this.frame,
        element(
          "p",
          { class: "trouble" },
          "This browser has no WebGL, which the picture needs. The SVG file below shows the same.",
        ),
      );
      return;
    }
    replace(this.frame, this.stage.node);
    this.apply();
  }

  dispose() {
    this.stage?.dispose();
  }

  get axes() {
    if (this.choice === "space") return [0, 1, 2];
    const { x_label: x, y_label: y } = this.plot.panels[this.choice];
    return [x, y].map((name) => Number(name.slice(1)));
  }

  cloud() {
    return toCloud([...this.points, ...this.added], this.axes, this.model, this.columns, this.table);
  }

  addRows(rows) {
    this.added = rows;
    if (this.stage instanceof Curves) this.stage.setMarks(rows.map(({ z }) => z[0]));
    else this.stage?.setCloud(this.cloud());
  }

  apply() {
    this.stage?.setHidden(this.hidden, this.hiddenKinds);
  }

  legend() {
    const toggle = (set, item) => (event) => {
      if (!set.delete(item)) set.add(item);
      event.currentTarget.setAttribute("aria-pressed", String(!set.has(item)));
      this.apply();
    };
    const entry = (mark, text, set, item) =>
      element("button", { type: "button", "aria-pressed": "true", onclick: toggle(set, item) }, mark, text);
    const classes = this.model.classes.map((label, code) =>
      entry(element("span", { class: "dot", style: { background: colorOf(code) } }), String(label), this.hidden, code),
    );
    const hasHeldOut = this.points.some(({ kind }) => kind === "held out");
    const kinds = hasHeldOut
      ? [
          ["seen", "dot full", "rows of the fit"],
          ["held out", "dot hollow", "held out"],
        ].map(([kind, look, text]) => entry(element("span", { class: look }), text, this.hiddenKinds, kind))
      : [];
    return element("div", { class: "legend", role: "group", "aria-label": "Shown in the picture" }, classes, kinds);
  }
}
