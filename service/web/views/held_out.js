// The separation on held-out rows, and further warnings about the picture.

import { scoreScale } from "../charts/score_scale.js";
import { element } from "../element.js";
import { MEANINGS } from "../meanings.js";
import { count, percent, plural, score } from "../words.js";

const UPRIGHT = 6; // with more classes the names are rotated

// A cell of the confusion table selects its rows in the picture.
export function heldOut({ card, classes }, picture) {
  const head = (number, hint) => [
    element("h2", { id: "held-out-title" }, "Rows it has not seen"),
    element("p", { class: "big", title: MEANINGS.heldOut }, number),
    element("p", { class: "hint", title: MEANINGS.interval }, hint),
  ];
  const { validation } = card;
  const content = validation
    ? [
        element(
          "div",
          { class: "panel-head" },
          head(
            score(validation.balanced_accuracy),
            `balanced accuracy, ${percent(validation.confidence)} interval ${score(validation.interval[0])} to ${score(validation.interval[1])}`,
          ),
        ),
        scoreScale(validation),
        verdict(card),
        shuffled(card),
        confusion(validation.confusion, classes, (code, taken) => choose(picture, code, taken)),
        warnings(card),
      ]
    : [
        element("div", { class: "panel-head" }, head("–", "not judged on held-out rows")),
        verdict(card),
        warnings(card),
      ];
  return element("section", { class: "panel held-out", "aria-labelledby": "held-out-title" }, content);
}

const verdict = ({ verdict: { sentence, next } }) => [
  element("p", { class: "verdict" }, sentence),
  element("p", { class: "hint" }, next),
];

function shuffled({ permutation_test: test }) {
  if (!test) return null;
  const p = test.p_value_of_balanced_accuracy ?? test.p_value_of_divergence;
  return element("p", { title: MEANINGS.pValue }, `Against ${plural(test.permutations, "fit")} to shuffled classes: p = ${score(p)}.`);
}

function choose(picture, code, taken) {
  picture.inquiry.select(`cell:${code}:${taken}`);
}

function confusion(counts, classes, onCell) {
  const most = Math.max(...counts.map((row) => row.reduce((sum, value) => sum + value, 0)));
  const cell = (value, code, other) => {
    const label = `Select ${count(value)} of ${classes[code]} taken for ${classes[other]}`;
    const press = () => onCell(code, other);
    return element(
      "td",
      { class: code === other ? "right" : "wrong", style: { "--share": `${Math.round((100 * value) / most)}%` } },
      value ? element("button", { type: "button", "aria-label": label, title: label, onclick: press }, count(value)) : "·",
    );
  };
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Held-out rows by class" },
    element(
      "table",
      { class: classes.length > UPRIGHT ? "confusion narrow-columns" : "confusion" },
      element("caption", {}, "Held-out rows: true class down, predicted class across"),
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          element("td"),
          classes.map((label) => element("th", { scope: "col", title: String(label) }, element("span", {}, String(label)))),
        ),
      ),
      element(
        "tbody",
        {},
        counts.map((row, code) =>
          element(
            "tr",
            {},
            element("th", { scope: "row", title: String(classes[code]) }, String(classes[code])),
            row.map((value, other) => cell(value, code, other)),
          ),
        ),
      ),
    ),
  );
}

function warnings({ warnings: texts = [] }) {
  return (
    texts.length > 0 &&
    element(
      "ul",
      { class: "problems" },
      texts.map((text) => element("li", {}, text)),
    )
  );
}
