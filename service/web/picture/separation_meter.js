// How far apart the picture that is shown keeps the classes, on the way from none to the best that was found.

import { button, element, replace } from "../element.js";
import { MEANINGS } from "../meanings.js";
import { score, short } from "../words.js";

const ROOM = 1.08; // beyond the best, in case a turn finds more

export class SeparationMeter {
  // `best` is the separation of the model's own picture. `onPlay` is null where nothing shall move by itself.
  constructor(best, { onBack, onPlay }) {
    this.best = best;
    this.fill = element("span", { class: "fill" });
    this.number = element("output", { class: "value" });
    this.remark = element("span", { class: "hint", role: "status" });
    this.back = button("Back to the best", onBack, "small");
    this.play = onPlay && button("Play from PCA", onPlay, "small");
    const mark = element("span", { class: "best", title: "The best separation that was found", style: { left: `${100 / ROOM}%` } });
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

  // { value, score, isExact, isOptimum }; without a value the last one stays, until the exact one comes.
  show({ value, score: accuracy, isExact, isOptimum }) {
    this.back.disabled = isOptimum;
    if (value === undefined) return;
    this.fill.style.setProperty("width", `${Math.max(0, Math.min(1, value / (this.best * ROOM))) * 100}%`);
    replace(this.number, `${isExact ? "" : "about "}${short(Number(value.toPrecision(3)))}`);
    if (!isExact) return replace(this.remark);
    const judged = accuracy === undefined ? "" : `; ${score(accuracy)} of the rows recognized by the others`;
    replace(this.remark, isOptimum ? `the best that was found${judged}` : `of ${short(Number(this.best.toPrecision(3)))} at the best${judged}`);
  }
}
