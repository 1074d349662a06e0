// A small picture among others: points and boundary, nothing to operate.

import { element } from "../element.js";
import { colorOf } from "./palette.js";
import { scale } from "./axis.js";

const SIZE = 240; // pixels, drawn at twice that

export function thumbnail(plot, label) {
  const canvas = element("canvas", {
    class: "thumbnail",
    width: 2 * SIZE,
    height: 2 * SIZE,
    role: "img",
    "aria-label": label,
  });
  const [panel] = plot.panels;
  const pen = canvas.getContext("2d");
  const toX = scale(panel.x_range, [0, 2 * SIZE]);
  const toY = scale(panel.y_range, [2 * SIZE, 0]);
  panel.series.forEach(({ points, curve }, code) => {
    pen.fillStyle = pen.strokeStyle = colorOf(code);
    pen.globalAlpha = 0.7;
    for (const [x, y] of points) {
      pen.beginPath();
      pen.arc(toX(x), toY(y), 4.5, 0, 2 * Math.PI);
      pen.fill();
    }
    if (!curve.length) return;
    pen.beginPath();
    curve.forEach(([x, y]) => pen.lineTo(toX(x), toY(y)));
    pen.lineWidth = 3;
    pen.stroke();
    pen.globalAlpha = 0.2;
    pen.fill();
  });
  pen.globalAlpha = 0.9;
  pen.strokeStyle = "#85858c";
  pen.lineWidth = 2.5;
  pen.beginPath();
  for (const [x1, y1, x2, y2] of panel.boundary) {
    pen.moveTo(toX(x1), toY(y1));
    pen.lineTo(toX(x2), toY(y2));
  }
  pen.stroke();
  return canvas;
}
