// Selection of rows in the picture: by click, box or lasso.

import { svg } from "../element.js";
import { isInside } from "./selection.js";

const STILL = 4; // pixels: less than that is a click
const CORNERS = 48; // of a lasso; limited, because the URL contains it
export const TOOLS = { move: "Move", box: "Box", lasso: "Lasso" };

export class Selecting {
  // `onChosen(indexes, words, outline)` gets the selected points of the cloud, and the outline in pixels.
  constructor(stage, onChosen) {
    Object.assign(this, { stage, onChosen });
    this.tool = "move";
    this.mark = svg("path", { class: "lasso" });
    this.node = svg("svg", { "aria-hidden": "true" }, this.mark);
    stage.node.append(this.node);
    stage.canvas.addEventListener("pointerdown", (event) => this.begin(event));
    stage.canvas.addEventListener("pointermove", (event) => this.go(event));
    stage.canvas.addEventListener("pointerup", (event) => this.end(event));
    stage.canvas.addEventListener("pointercancel", () => this.forget());
  }

  setTool(tool) {
    this.tool = tool;
    this.stage.isLocked = tool !== "move"; // dragging selects rows and does not move the picture
    this.stage.canvas.classList.toggle("choosing", this.stage.isLocked);
  }

  begin({ offsetX, offsetY }) {
    this.path = [[offsetX, offsetY]];
  }

  go({ offsetX, offsetY }) {
    if (!this.path) return;
    this.path.push([offsetX, offsetY]);
    if (this.tool !== "move") this.mark.setAttribute("d", `M${this.outline().map((place) => place.join(" ")).join("L")}Z`);
  }

  outline() {
    if (this.tool === "lasso") return this.path;
    const [[x1, y1], [x2, y2]] = [this.path[0], this.path.at(-1)];
    return [[x1, y1], [x2, y1], [x2, y2], [x1, y2]];
  }

  end({ offsetX, offsetY }) {
    if (!this.path) return;
    const [startX, startY] = this.path[0];
    if (this.path.every(([x, y]) => Math.hypot(x - startX, y - startY) < STILL)) {
      const nearest = this.stage.nearest(offsetX, offsetY);
      this.onChosen(nearest < 0 ? [] : [nearest], "one row");
    } else if (this.tool !== "move") {
      const outline = thinned(this.outline());
      const place = [0, 0];
      const found = [...this.stage.order].filter((index) => isInside(this.stage.locate(index, place), outline));
      this.onChosen(found, this.tool === "box" ? "rows in a box" : "rows in a lasso", outline);
    }
    this.forget();
  }

  forget() {
    this.path = null;
    this.mark.removeAttribute("d");
  }
}

function thinned(path) {
  const step = Math.ceil(path.length / CORNERS);
  return path.filter((_, at) => at % step === 0);
}
