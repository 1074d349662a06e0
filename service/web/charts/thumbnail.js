// A small, static picture: points and boundary.

import { element } from "../element.js";
import { colorOf } from "./palette.js";
import { scale } from "./axis.js";

const SIZE = 240; // pixels, drawn at twice that

const [STRONG, FAINT] = [0.9, 0.12];

// `marked` are rows of which some are selected: { Z, codes, rows, selected }; without it the rows of the plot are drawn.
export function thumbnail(plot, label, marked = null) {
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
  const dot = (x, y) => {
    pen.beginPath();
    pen.arc(toX(x), toY(y), 4.5, 0, 2 * Math.PI);
    pen.fill();
  };
  panel.series.forEach(({ points, curve }, code) => {
    pen.fillStyle = pen.strokeStyle = colorOf(code);
    pen.globalAlpha = 0.7;
    if (!marked) for (const [x, y] of points) dot(x, y);
    if (!curve.length) return;
    pen.beginPath();
    curve.forEach(([x, y]) => pen.lineTo(toX(x), toY(y)));
    pen.lineWidth = 3;
    pen.stroke();
    pen.globalAlpha = 0.2;
    pen.fill();
  });
  if (marked && plot.n_components > 1) drawMarked(pen, dot, marked);
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

// Selected rows last, so that they are drawn on top.
function drawMarked(pen, dot, { Z, codes, rows, selected }) {
  const k = Z.length / codes.length;
  for (const isSelected of [false, true]) {
    pen.globalAlpha = isSelected ? STRONG : FAINT;
    for (let index = 0; index < codes.length; index += 1) {
      if (selected.has(rows[index]) !== isSelected) continue;
      pen.fillStyle = colorOf(codes[index]);
      dot(Z[k * index], Z[k * index + 1]);
    }
  }
}
