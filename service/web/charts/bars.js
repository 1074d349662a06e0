// The columns that make up an axis: one bar per column, the largest first.

import { element } from "../element.js";
import { signed } from "../words.js";

const SHOWN = 8;

// `entries` are { name, value, meaning, interval, mark, isUnsure }: `interval` is the bootstrap interval, if there is one,
// and `mark` is a value to mark beside the bar.
export function bars(entries, label) {
  const sorted = [...entries].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const hasIntervals = entries.some(({ interval }) => interval);
  const most = Math.max(...entries.flatMap(({ value, interval, mark = 0 }) => [value, mark, ...(interval ?? [])]).map(Math.abs), 1e-12);
  const place = (value) => 50 + (50 * value) / most;
  const row = ({ name, value, meaning, interval, mark, isUnsure }) => {
    const side = value < 0 ? "right" : "left";
    const [low, high] = (interval ?? [0, 0]).map(place);
    return element(
      "tr",
      { class: isUnsure ? "unsure" : null },
      element("th", { scope: "row", title: name }, name),
      element(
        "td",
        { class: "bar-cell" },
        element("span", { class: `bar ${side}`, style: { width: `${Math.abs(place(value) - 50)}%`, [side]: "50%" } }),
        interval && element("span", { class: "whisker", style: { left: `${low}%`, width: `${high - low}%` } }),
        mark !== undefined && element("span", { class: "mark", title: `selected rows: ${signed(mark)}`, style: { left: `${place(mark)}%` } }),
      ),
      element("td", { class: "number", title: meaning }, signed(value)),
    );
  };
  const body = element("tbody", {}, sorted.slice(0, SHOWN).map(row));
  const table = element("table", { class: hasIntervals ? "bars with-intervals" : "bars" }, label && element("caption", {}, label), body);
  if (sorted.length <= SHOWN) return table;
  const more = element("button", { type: "button", class: "link" }, `Show all ${sorted.length}`);
  more.addEventListener("click", () => (body.append(...sorted.slice(SHOWN).map(row)), more.remove()));
  return element("div", {}, table, more);
}
