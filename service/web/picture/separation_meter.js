// A meter of the separation of the shown picture, with a mark at that of the fitted one.

import { button, element, replace } from "../element.js";
import { MEANINGS } from "../meanings.js";
import { score, short } from "../words.js";

const ROOM = 1.25; // beyond the fitted picture, because a rotation may separate better

export class SeparationMeter {
  // `fitted` is the separation of the model. `onPlay` is null if animations are disabled.
  constructor(fitted, { onBack, onPlay }) {
    this.fitted = fitted;
    this.fill = element("span", { class: "fill" });
    this.number = element("output", { class: "value" });
    this.remark = element("span", { class: "hint", role: "status" });
    this.back = button("Back to the fit", onBack, "small");
    this.play = onPlay && button("Play from PCA", onPlay, "small");
    const mark = element("span", { class: "fitted", title: "The separation of the fitted picture", style: { left: `${100 / ROOM}%` } });
    this.node = element(
      "div",
      { class: "meter" },
      element("span", { class: "meter-name explained", title: MEANINGS.separation }, "Separation"),
      element("span", { class: "track" }, this.fill, mark),
      this.number,
      this.remark,
      element("span", { class: "meter-actions" }, this.back, this.play),
    );
  }

  // { value, score, isExact, isOptimum }; without a value the last one is kept, until the exact one arrives.
  show({ value, score: accuracy, isExact, isOptimum }) {
    this.back.disabled = isOptimum;
    if (value === undefined) return;
    this.fill.style.setProperty("width", `${Math.max(0, Math.min(1, value / (this.fitted * ROOM))) * 100}%`);
    replace(this.number, `${isExact ? "" : "about "}${short(Number(value.toPrecision(3)))}`);
    if (!isExact) return replace(this.remark);
    const judged = accuracy === undefined ? "" : `; balanced accuracy ${score(accuracy)}`;
    replace(this.remark, `${isOptimum ? "as fitted" : `fitted: ${short(Number(this.fitted.toPrecision(3)))}`}${judged}`);
  }
}
