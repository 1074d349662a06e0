// Which features make up an axis: one bar a feature, the strongest first.

import { element } from "../element.js";

const SHOWN = 12;

// `interval` is { low, high } with one value a feature, where the fit was repeated on rows drawn anew.
export function bars(names, values, label, interval = null) {
  const order = values
    .map((value, index) => [Math.abs(value), index])
    .sort((a, b) => b[0] - a[0])
    .map(([, index]) => index);
  const most = Math.max(...[...values, ...(interval?.low ?? []), ...(interval?.high ?? [])].map(Math.abs), 1e-12);
  const place = (value) => 50 + (50 * value) / most;
  const row = (index) => {
    const share = `${Math.abs(place(values[index]) - 50)}%`;
    const side = values[index] < 0 ? "right" : "left";
    const [low, high] = interval ? [place(interval.low[index]), place(interval.high[index])] : [0, 0];
    return element(
      "tr",
      {},
      element("th", { scope: "row", title: names[index] }, names[index]),
      element(
        "td",
        { class: "bar-cell" },
        element("span", { class: `bar ${side}`, style: { width: share, [side]: "50%" } }),
        interval && element("span", { class: "whisker", style: { left: `${low}%`, width: `${high - low}%` } }),
      ),
      element("td", { class: "number" }, values[index].toFixed(2).replace("-", "−")),
    );
  };
  const body = element("tbody", {}, order.slice(0, SHOWN).map(row));
  const table = element(
    "table",
    { class: interval ? "bars with-intervals" : "bars" },
    element("caption", {}, label),
    body,
  );
  if (order.length <= SHOWN) return table;
  const more = element("button", { type: "button", class: "link" }, `Show all ${order.length}`);
  more.addEventListener("click", () => (body.append(...order.slice(SHOWN).map(row)), more.remove()));
  return element("div", {}, table, more);
}
