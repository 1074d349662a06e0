// Which features make up an axis: one bar a feature, the strongest first.

import { element } from "../element.js";

const SHOWN = 12;

export function bars(names, values, label) {
  const order = values.map((value, index) => [Math.abs(value), index]).sort((a, b) => b[0] - a[0]).map(([, index]) => index);
  const most = Math.max(...values.map(Math.abs), 1e-12);
  const row = (index) => {
    const share = `${(50 * Math.abs(values[index])) / most}%`;
    const side = values[index] < 0 ? "right" : "left";
    return element(
      "tr",
      {},
      element("th", { scope: "row", title: names[index] }, names[index]),
      element("td", { class: "bar-cell" }, element("span", { class: `bar ${side}`, style: { width: share, [side]: "50%" } })),
      element("td", { class: "number" }, values[index].toFixed(2).replace("-", "−")),
    );
  };
  const body = element("tbody", {}, order.slice(0, SHOWN).map(row));
  const table = element("table", { class: "bars" }, element("caption", {}, label), body);
  if (order.length <= SHOWN) return table;
  const more = element("button", { type: "button", class: "link" }, `Show all ${order.length}`);
  more.addEventListener("click", () => (body.append(...order.slice(SHOWN).map(row)), more.remove()));
  return element("div", {}, table, more);
}
