// The selected rows, by their numbers in the dataset, with a description of the selection.

export class Selection {
  constructor() {
    this.rows = new Set();
    this.title = "";
    this.definition = ""; // to restore it from a URL
    this.listeners = [];
  }

  get size() {
    return this.rows.size;
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  choose(rows, title, definition) {
    this.rows = new Set(rows);
    this.title = title;
    this.definition = this.rows.size ? definition : "";
    for (const listener of this.listeners) listener(this);
  }

  clear() {
    this.choose([], "", "");
  }

  has(row) {
    return this.rows.has(row);
  }
}

// Whether a place lies inside a polygon, [[x, y], …]: a ray from it crosses the border an odd number of times.
export function isInside([x, y], polygon) {
  let inside = false;
  for (let index = 0, before = polygon.length - 1; index < polygon.length; before = index, index += 1) {
    const [[x1, y1], [x2, y2]] = [polygon[index], polygon[before]];
    if (y1 > y !== y2 > y && x < x1 + ((y - y1) / (y2 - y1)) * (x2 - x1)) inside = !inside;
  }
  return inside;
}
