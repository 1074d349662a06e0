// Controls to select rows, to color points by a column, and to find a row.

import { element, replace } from "../element.js";
import { count, plural } from "../words.js";
import { Flat } from "./flat.js";
import { titleOf } from "./point_description.js";
import { TOOLS } from "./selecting.js";
import { isInside } from "./selection.js";

export class Inquiry {
  constructor(picture) {
    this.picture = picture;
    this.node = element("div", { class: "inquiry" });
  }

  // Called when the rows are loaded.
  offer() {
    const { table, hasPoints } = this.picture;
    replace(
      this.node,
      hasPoints && this.toolChoice(),
      this.rowChoice(),
      hasPoints && table && this.colorChoice(),
      table && this.search(),
    );
  }

  toolChoice() {
    const choice = ([tool, title]) => [
      element("input", {
        type: "radio",
        name: "tool",
        id: `tool-${tool}`,
        checked: tool === this.picture.tool,
        onchange: () => this.picture.setTool(tool),
      }),
      element("label", { for: `tool-${tool}` }, title),
    ];
    const legend = element("legend", { class: "visually-hidden" }, "What a drag does");
    return element("fieldset", { class: "segments small" }, legend, Object.entries(TOOLS).map(choice));
  }

  // Selects rows of a class, misclassified rows, or outliers.
  rowChoice() {
    const { model } = this.picture;
    const choices = [
      ...(this.picture.confused.length ? [["Rows recognized wrongly", "wrong"]] : []),
      ...(this.picture.stage instanceof Flat ? [["Rows far from the others", "far"]] : []),
      ...model.classes.map((label, code) => [`Class ${label}`, `class:${code}`]),
    ];
    const select = element(
      "select",
      { "aria-label": "Select rows" },
      element("option", { value: "" }, "Select …"),
      choices.map(([title, definition]) => element("option", { value: definition }, title)),
    );
    select.addEventListener("change", () => {
      if (select.value) this.select(select.value);
      select.value = "";
    });
    return select;
  }

  // Selects rows by a definition: wrong, far, class:CODE, cell:CODE:TAKEN, find:TEXT, rows:NUMBER,…
  // area:TURN:X,Y,…
  select(definition) {
    const { model, selection } = this.picture;
    const [kind, ...rest] = definition.split(":");
    const text = rest.join(":");
    const [code, taken] = rest.map(Number);
    const name = (index) => String(model.classes[index]);
    const cell = ({ code: own, taken: other }) => own === code && other === taken;
    const ways = {
      wrong: () => [this.wrong(), `rows recognized wrongly${this.ofKept}`],
      far: () => [this.far(), "rows far from the others"],
      class: () => [this.ofClass(code), `class ${name(code)}`],
      cell: () => [
        this.picture.confused.filter(cell).map(({ row }) => row),
        (code === taken ? `${name(code)}, recognized` : `${name(code)}, taken for ${name(taken)}`) + this.ofKept,
      ],
      find: () => [this.find(text.toLowerCase()), `rows with “${text}”`],
      rows: () => [text.split(",").map(Number), "rows of a link"],
      area: () => [this.inArea(rest[0], rest[1].split(",").map(Number)), "rows in an area"],
    };
    if (ways[kind]) selection.choose(...ways[kind](), definition);
  }

  wrong() {
    return this.picture.confused.filter(({ code, taken }) => code !== taken).map(({ row }) => row);
  }

  // A remark if the model has kept only a part of its held-out rows, because there were very many.
  get ofKept() {
    const { model, heldOut } = this.picture;
    const judged = (model.card.validation?.confusion ?? []).flat().reduce((sum, cell) => sum + cell, 0);
    const kept = heldOut.codes.length;
    return judged > kept ? `, of the ${count(kept)} held-out rows that the model keeps` : "";
  }

  far() {
    const { stage } = this.picture;
    return stage instanceof Flat ? Array.from(stage.far, (index) => stage.cloud.rows[index]).filter((row) => row >= 0) : [];
  }

  // Rows within a polygon, given by x and y alternately, in the given rotation of the picture.
  inArea(turn, numbers) {
    const { stage, turning } = this.picture;
    if (!(stage instanceof Flat)) return [];
    const corners = Array.from({ length: numbers.length / 2 }, (_, at) => numbers.slice(2 * at, 2 * at + 2));
    const { positions, rows } = stage.cloud;
    const turned = turning?.placesAfter(turn);
    const placeOf = (index) => (turned ? turned.subarray(2 * index, 2 * index + 2) : positions.subarray(3 * index, 3 * index + 2));
    return Array.from(stage.order.filter((index) => rows[index] >= 0 && isInside(placeOf(index), corners)), (index) => rows[index]);
  }

  ofClass(code) {
    const { table, model } = this.picture;
    const target = table?.columns.find(({ role }) => role === "target");
    const label = String(model.classes[code]);
    if (target) return [...target.values.keys()].filter((row) => String(target.values[row]) === label);
    const { codes, rows } = this.picture.seen;
    return Array.from(rows).filter((row, index) => codes[index] === code && row >= 0);
  }

  colorChoice() {
    const columns = this.picture.table.columns.filter(({ role }) => role !== "id" && role !== "target");
    const select = element(
      "select",
      { "aria-label": "Color by" },
      element("option", { value: "" }, "Color by class"),
      columns.map(({ name }) =>
        element("option", { value: name, selected: name === this.picture.coloredBy }, `Color by ${name}`),
      ),
    );
    select.addEventListener("change", () => this.picture.colorBy(select.value));
    return select;
  }

  search() {
    const input = element("input", { type: "search", "aria-label": "Find rows", placeholder: "Find rows by id or text" });
    const said = element("span", { class: "hint", role: "status" });
    input.addEventListener("change", () => {
      const text = input.value.trim();
      const { selection } = this.picture;
      if (text) this.select(`find:${text}`);
      else selection.clear();
      replace(said, text && plural(selection.size, "row"));
      if (selection.size === 1) this.picture.pointAt([...selection.rows][0]);
    });
    return element("span", { class: "row-search" }, input, said);
  }

  // Rows with that id; if there are none, rows that contain that text.
  find(word) {
    const { table } = this.picture;
    const all = table.columns[0].values.map((_, row) => row);
    const byId = all.filter((row) => titleOf({ row }, table).toLowerCase() === word);
    if (byId.length) return byId;
    const texts = table.columns.filter(({ values }) => values.some((value) => typeof value === "string"));
    return all.filter((row) => texts.some(({ values }) => String(values[row] ?? "").toLowerCase().includes(word)));
  }
}
