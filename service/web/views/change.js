// Before a refit: rename, merge or leave out classes. Columns, method and options are chosen on the next page.

import { button, element } from "../element.js";
import { list } from "../words.js";

const [KEEP, LEAVE_OUT] = ["keep", "leave out"];

// `onContinue(classes)` gets a map from each changed label to the new one, or to null if its rows are left out.
export function change({ classes }, onContinue) {
  const labels = classes.map(String);
  const choices = labels.map((label, code) =>
    element(
      "select",
      { id: `class-${code}` },
      element("option", { value: KEEP }, "Keep"),
      element("option", { value: LEAVE_OUT }, "Leave out"),
      labels.map((other, at) => at !== code && element("option", { value: String(at) }, `Merge with ${other}`)),
    ),
  );
  const outcome = element("p", { class: "hint", role: "status" });
  const go = button("Continue", () => onContinue(changesOf(choices, labels)), "primary");
  const tell = () => {
    const left = remaining(changesOf(choices, labels), labels);
    go.disabled = left.length < 2;
    outcome.textContent = left.length < 2 ? "A fit needs two classes." : `${left.length} classes: ${list(left, 8)}.`;
  };
  for (const choice of choices) choice.addEventListener("change", tell);
  tell();
  return element(
    "section",
    { class: "change panel", "aria-labelledby": "change-title", hidden: true },
    element("h2", { id: "change-title" }, "Change and fit again"),
    element("p", { class: "hint" }, "What becomes of each class? Columns, method and options can be changed on the next page."),
    element(
      "div",
      { class: "class-choices" },
      labels.map((label, code) => [element("label", { for: `class-${code}` }, label), choices[code]]),
    ),
    outcome,
    element("p", { class: "actions" }, go),
  );
}

// The name of merged classes joins their names.
function changesOf(choices, labels) {
  const group = labels.map((_, code) => code);
  choices.forEach(({ value }, code) => {
    if (value === KEEP || value === LEAVE_OUT) return;
    const [from, to] = [group[code], group[Number(value)]];
    group.forEach((each, at) => each === from && (group[at] = to));
  });
  const isKept = (code) => choices[code].value !== LEAVE_OUT;
  const nameOf = (code) => labels.filter((_, at) => group[at] === group[code] && isKept(at)).join(" or ");
  const changes = labels.map((label, code) => [label, isKept(code) ? nameOf(code) : null]);
  return new Map(changes.filter(([label, name]) => label !== name));
}

const remaining = (changes, labels) => [...new Set(labels.map((label) => (changes.has(label) ? changes.get(label) : label)))].filter((label) => label !== null);
