// Colors of classes, safe for color-blind people (Okabe and Ito, then more). After ten classes the shape changes.

const COLORS = [
  "#0072b2",
  "#d55e00",
  "#009e73",
  "#cc79a7",
  "#e69f00",
  "#56b4e9",
  "#b5a300",
  "#aa4466",
  "#8c8c8c",
  "#8a63d2",
];
const SHAPES = 4; // circle, square, diamond, triangle: as the shader in points.js knows them

export const colorOf = (code) => COLORS[code % COLORS.length];
export const shapeOf = (code) => Math.floor(code / COLORS.length) % SHAPES;

export function bytesOf(color) {
  return [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16));
}
