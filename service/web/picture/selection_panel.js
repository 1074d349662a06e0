// The panel of selected rows: the rows, what distinguishes them from the rest, and their export.

import { colorOf } from "../charts/palette.js";
import { asCsv, harmless } from "../csv_text.js";
import { button, element, replace } from "../element.js";
import { MEANINGS } from "../meanings.js";
import { percent, plural, short } from "../words.js";
import { strongestColumns } from "./axis_names.js";
import { distinguish } from "./distinction.js";
import { titleOf } from "./point_description.js";
import { RowTable } from "./row_table.js";

const SHOWN = 8; // columns that distinguish
const LISTED = 40; // columns of the table of rows
const BINS = 24;
const [WIDTH, HEIGHT] = [150, 30];

export class SelectionPanel {
  // `onPoint(row)` gets the row under the pointer, `onSave(text, name)` downloads a file, `onLeaveOut(rows)` fits
  // again without rows.
  constructor(selection, { onPoint, onSave, onLeaveOut }) {
    Object.assign(this, { selection, onPoint, onSave, onLeaveOut });
    this.node = element("section", { class: "selection", hidden: true, "aria-labelledby": "selection-title" });
    this.second = null; // another selection to compare with, instead of the rest
    selection.onChange(() => this.show());
  }

  // A wide table is shown with the columns that have the largest loadings.
  setTable(table, model) {
    this.table = table;
    this.columns = table.columns.filter(({ role }) => role !== "id");
    const strongest = new Set(strongestColumns(model, LISTED));
    const listed = this.columns.length <= LISTED ? this.columns : this.columns.filter(({ name, role }) => role === "target" || strongest.has(name));
    const title = (row) => titleOf({ row }, table);
    this.rows = new RowTable(listed, title, this.onPoint);
    this.nUnlisted = this.columns.length - listed.length;
    this.show();
  }

  get all() {
    return Array.from(this.table.columns[0].values, (_, row) => row);
  }

  show() {
    const { selection, table } = this;
    this.node.hidden = selection.size === 0;
    if (selection.size === 0) return;
    const chosen = [...selection.rows].sort((a, b) => a - b);
    const actions = [
      table && button("Export as CSV", () => this.onSave(this.asCsv(chosen), "selected rows.csv"), "small"),
      table && this.copyButton(chosen),
      table && button("Keep to compare with", () => this.keep(chosen), "small"),
      table && button("Leave out and fit again", () => this.onLeaveOut(selection.rows), "small"),
      button("Clear", () => selection.clear(), "small"),
    ];
    replace(
      this.node,
      element("h2", { id: "selection-title" }, `${plural(selection.size, "selected row")} · ${selection.title}`),
      element("p", { class: "actions" }, actions),
      table
        ? element("div", { class: "selection-parts" }, this.distinction(chosen), this.listing())
        : element("p", { class: "hint" }, "The service does not provide the rows, so their values cannot be shown."),
    );
    this.rows?.show(chosen);
  }

  listing() {
    const hint = `The table shows the ${LISTED} columns that weigh most. ${plural(this.nUnlisted, "more is", "more are")} in the export.`;
    return element("div", {}, this.rows.node, this.nUnlisted > 0 && element("p", { class: "hint" }, hint));
  }

  keep(rows) {
    this.second = { rows, title: this.selection.title };
    this.show();
  }

  copyButton(rows) {
    const copy = button("Copy ids", null, "small");
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(rows.map((row) => titleOf({ row }, this.table)).join("\n"));
      replace(copy, "Copied");
    });
    return copy;
  }

  distinction(chosen) {
    const own = new Set(chosen);
    const isOther = this.second && (this.second.rows.length !== chosen.length || this.second.rows.some((row) => !own.has(row)));
    const others = (isOther ? this.second.rows : this.all).filter((row) => !own.has(row));
    const compared = distinguish(this.columns, chosen, others);
    const sure = compared.filter(({ interval: [low, high] }) => low > 0 || high < 0);
    const against = isOther ? `${plural(others.length, "row")} · ${this.second.title}` : "all other rows";
    return element(
      "div",
      { class: "distinction" },
      element("h3", {}, "What distinguishes these"),
      element("p", { class: "hint" }, `Against ${against}. Size of the difference with a 95\u00a0% interval, surest first.`),
      element("ol", {}, sure.slice(0, SHOWN).map(item)),
      element("p", { class: "hint" }, remark(compared.length, sure.length)),
    );
  }

  asCsv(rows) {
    const { columns } = this.table;
    return asCsv([columns.map(({ name }) => name), ...rows.map((row) => columns.map(({ values }) => harmless(values[row])))]);
  }
}

function remark(nCompared, nSure) {
  if (nCompared === 0) return "Too few rows on one side to compare.";
  if (nSure === 0) return "No column differs for sure.";
  const nMore = Math.max(0, nSure - SHOWN);
  const more = nMore > 0 && `${plural(nMore, "more column differs", "more columns differ")} for sure.`;
  const unsure = nCompared > nSure && `In ${plural(nCompared - nSure, "other column")} the interval includes no difference.`;
  return [more, unsure].filter(Boolean).join(" ");
}

function item(found) {
  const { name, effect, interval } = found;
  const sign = (value) => value.toFixed(2).replace("-", "−");
  const words = found.kind === "number" ? numberWords(found) : categoryWords(found);
  const size = `${sign(effect)} (${sign(interval[0])} to ${sign(interval[1])})`;
  const meaning = found.kind === "number" ? MEANINGS.difference : MEANINGS.shareDifference;
  return element(
    "li",
    {},
    element("strong", {}, name),
    element("span", { class: "effect", title: meaning }, size),
    element("span", { class: "words" }, words),
    found.kind === "number" ? histograms(found) : shares(found),
  );
}

const numberWords = ({ means: [own, others] }) => `on average ${short(own)}, elsewhere ${short(others)}`;
const categoryWords = ({ category, shares: [own, others] }) => `${category}: ${percent(own)}, elsewhere ${percent(others)}`;

// Both distributions along one axis, each of equal area.
function histograms({ own, others }) {
  const ratio = 2;
  const canvas = element("canvas", { width: ratio * WIDTH, height: ratio * HEIGHT, "aria-hidden": "true" });
  const sorted = Float64Array.from([...own, ...others]).sort();
  const [low, high] = [sorted[Math.floor(0.01 * sorted.length)], sorted[Math.floor(0.99 * (sorted.length - 1))]];
  const shapes = [others, own].map((values) => {
    const counts = new Float64Array(BINS);
    for (const value of values) {
      const bin = high > low ? Math.floor(((value - low) / (high - low)) * BINS) : 0;
      counts[Math.max(0, Math.min(BINS - 1, bin))] += 1 / values.length;
    }
    return counts;
  });
  const top = Math.max(...shapes.flatMap((counts) => [...counts]));
  const pen = canvas.getContext("2d");
  shapes.forEach((counts, isOwn) => {
    pen.fillStyle = isOwn ? colorOf(0) : "#8b8a86";
    pen.globalAlpha = 0.6;
    counts.forEach((share, bin) => {
      const height = (share / top) * ratio * HEIGHT;
      pen.fillRect((bin * ratio * WIDTH) / BINS, ratio * HEIGHT - height, (ratio * WIDTH) / BINS - 1, height);
    });
  });
  return canvas;
}

function shares({ shares: [own, others] }) {
  const bar = (share, kind) => element("span", { class: `share ${kind}`, style: { width: `${100 * share}%` } });
  return element("span", { class: "shares", "aria-hidden": "true" }, bar(own, "own"), bar(others, "others"));
}
