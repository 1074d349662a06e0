// The legend below a picture: its classes, which rows are drawn, and how many are not visible.

import { colorOf, shapeOf } from "../charts/palette.js";
import { element, replace } from "../element.js";
import { count, plural } from "../words.js";
import { HELD_OUT, SEEN } from "./cloud.js";
import { Flat } from "./flat.js";

const EXPLANATIONS = {
  [SEEN]: "Each point is a row that was fitted.",
  [HELD_OUT]: "Each ring is a row, placed by a fit that had not seen it. Its color is its true class.",
};

export class Legend {
  constructor(picture) {
    this.picture = picture;
    this.scale = element("div"); // of colors by a column
    this.explanation = element("p", { class: "hint" });
    this.far = element("p", { class: "hint", "aria-live": "polite" });
    const { model, heldOut, plot } = picture;
    const entries = model.classes.map((label, code) => this.entry(label, code));
    this.node = element(
      "div",
      {},
      this.scale,
      element("div", { class: "legend", role: "group", "aria-label": "Classes in the picture" }, entries),
      heldOut.codes.length > 0 && plot.n_components > 1 && this.kindChoice(),
    );
    this.remarks = element("div", { class: "remarks" }, this.explanation, this.far);
    this.explain();
  }

  entry(label, code) {
    const { hidden } = this.picture;
    const toggle = ({ currentTarget }) => {
      if (!hidden.delete(code)) hidden.add(code);
      currentTarget.setAttribute("aria-pressed", String(!hidden.has(code)));
      this.picture.apply();
    };
    const dot = element("span", { class: `dot shape-${shapeOf(code)}`, style: { background: colorOf(code) } });
    return element("button", { type: "button", "aria-pressed": String(!hidden.has(code)), onclick: toggle }, dot, String(label));
  }

  kindChoice() {
    const choice = (kind, text) => [
      element("input", {
        type: "radio",
        name: "kind",
        id: `kind-${kind}`,
        checked: kind === this.picture.kind,
        onchange: () => this.picture.setKind(kind),
      }),
      element("label", { for: `kind-${kind}` }, text),
    ];
    const legend = element("legend", { class: "visually-hidden" }, "Which rows are drawn");
    return element("fieldset", { class: "segments small" }, legend, choice(SEEN, "As fitted"), choice(HELD_OUT, "Held out"));
  }

  explain() {
    const { model, plot, kind, seen, heldOut } = this.picture;
    const { n_rows: total } = model.card.data ?? {};
    const shown = (kind === SEEN ? seen : heldOut).codes.length;
    const part = total > shown && shown && `${count(shown)} of ${count(total)} rows are drawn.`;
    const { turning, stage } = this.picture;
    const turn = turning && "Drag the tip of an arrow to turn the picture by its variable.";
    const move = `Drag${turning ? " elsewhere" : ""} to ${stage instanceof Flat ? "move" : "turn"} it. Ctrl and wheel, or the buttons, zoom.`;
    replace(this.explanation, plot.n_components > 1 && [EXPLANATIONS[kind], part, turn, move].filter(Boolean).join(" "));
  }

  // Shows how many rows are drawn at the border, with a button to show them.
  countFar() {
    const { stage } = this.picture;
    const nFar = stage instanceof Flat ? stage.far.length : 0;
    if (nFar === this.nFar) return;
    this.nFar = nFar;
    const text = nFar === 1 ? "1 row lies beyond the border and is shown there as a triangle. " : `${plural(nFar, "row")} lie beyond the border and are shown there as triangles. `;
    const show = element("button", { type: "button", class: "link", onclick: () => stage.widen() }, "Show all rows");
    replace(this.far, nFar > 0 && [text, show]);
  }
}
