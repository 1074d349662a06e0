// A table for very many rows, of which only the visible ones are rendered. It can be sorted by columns and searched.

import { element, replace } from "../element.js";

const HEIGHT = 30; // pixels of a row
const SPARE = 8; // rows rendered above and below the visible ones

export class RowTable {
  // `columns` are [{ name, values }] by index of the row; `titleOf(row)` names a row, `onPoint(row)` gets the one under
  // the pointer.
  constructor(columns, titleOf, onPoint) {
    Object.assign(this, { columns, titleOf, onPoint });
    this.rows = [];
    this.sorted = null; // { column, isDown }
    this.word = "";
    this.head = element("tr");
    this.body = element("tbody");
    this.table = element(
      "table",
      { class: "rows", "aria-rowcount": "0" },
      element("thead", {}, this.head),
      this.body,
    );
    this.scroll = element(
      "div",
      { class: "scroll rows-scroll", tabindex: "0", role: "region", "aria-label": "Selected rows" },
      this.table,
    );
    this.scroll.addEventListener("scroll", () => this.draw());
    const search = element("input", { type: "search", "aria-label": "Search the rows", placeholder: "Search" });
    search.addEventListener("input", () => ((this.word = search.value.toLowerCase()), this.arrange()));
    this.node = element("div", { class: "row-table" }, search, this.scroll);
    this.drawHead();
  }

  show(rows) {
    this.rows = rows;
    this.scroll.scrollTop = 0;
    this.arrange();
  }

  drawHead() {
    const heading = (name, column) => {
      const isSorted = this.sorted?.column === column;
      const sort = isSorted ? (this.sorted.isDown ? "descending" : "ascending") : "none";
      const press = element("button", { type: "button", class: "sort", onclick: () => this.sortBy(column) }, name);
      return element("th", { scope: "col", "aria-sort": sort }, press);
    };
    replace(this.head, heading("Row", null), this.columns.map((column) => heading(column.name, column)));
  }

  sortBy(column) {
    const isSame = this.sorted?.column === column;
    this.sorted = { column, isDown: isSame && !this.sorted.isDown };
    this.drawHead();
    this.arrange();
  }

  arrange() {
    const found = this.word ? this.rows.filter((row) => this.contains(row)) : [...this.rows];
    if (this.sorted) {
      const { column, isDown } = this.sorted;
      const value = column ? (row) => column.values[row] : (row) => row;
      found.sort((a, b) => order(value(a), value(b)) * (isDown ? -1 : 1));
    }
    this.found = found;
    this.table.setAttribute("aria-rowcount", String(found.length + 1));
    this.draw();
  }

  contains(row) {
    const has = (value) => value !== null && String(value).toLowerCase().includes(this.word);
    return has(this.titleOf(row)) || this.columns.some(({ values }) => has(values[row]));
  }

  draw() {
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / HEIGHT) - SPARE);
    const last = Math.min(this.found.length, first + Math.ceil(this.scroll.clientHeight / HEIGHT) + 2 * SPARE);
    const spacer = (count) => count > 0 && element("tr", { "aria-hidden": "true", style: { height: `${count * HEIGHT}px` } });
    const line = (row, index) =>
      element(
        "tr",
        { "aria-rowindex": String(index + 2), onpointerenter: () => this.onPoint(row) },
        element("th", { scope: "row" }, this.titleOf(row)),
        this.columns.map(({ values }) => element("td", {}, values[row] === null ? "" : String(values[row]))),
      );
    replace(
      this.body,
      spacer(first),
      this.found.slice(first, last).map((row, at) => line(row, first + at)),
      spacer(this.found.length - last),
    );
  }
}

// Missing values last; numbers by value, text in natural order.
function order(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}
