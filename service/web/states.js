// Placeholders for a view that is loading or cannot be shown.

import { ResponseError } from "./api.js";
import { button, element } from "./element.js";

export const loading = (text) => element("p", { class: "loading" }, text);

export function problemList(problems) {
  return element(
    "ul",
    { class: "problems" },
    problems.map(({ blocks, text, remedy, action }) =>
      element(
        "li",
        { class: blocks ? "blocks" : "" },
        element("strong", {}, text),
        remedy && element("span", { class: "sentence" }, remedy),
        action && element("div", {}, action),
      ),
    ),
  );
}

// An error in place of a view, with what to do.
export function failure(error, retry) {
  const [title, detail] = explain(error);
  return element(
    "section",
    { class: "failure", role: "alert" },
    element("h1", {}, title),
    element("p", {}, detail),
    element(
      "p",
      { class: "actions" },
      mayPass(error) && button("Try again", retry, "primary"),
      element("a", { class: "button", href: "#/" }, "Start again"),
    ),
  );
}

const mayPass = (error) =>
  !(error instanceof ResponseError && [404, 410, 422].includes(error.status));

export function explain(error) {
  if (!(error instanceof ResponseError)) return ["The page has an error", `This is a defect of the page, not of your data: ${error.message}`];
  if (error.isOutage)
    return [
      "The service does not answer",
      "It may be restarting. Your fits continue and nothing is lost. This view returns by itself.",
    ];
  if (error.status === 404)
    return ["Not found", `${error.message} The address may be incomplete, or belong to another service.`];
  if (error.status === 410) return ["Deleted or expired", error.message];
  if (error.status === 413) return ["Too large", error.message];
  if (error.errors.length)
    return [
      "The service cannot use this",
      error.errors
        .slice(0, 3)
        .map(({ detail, fix }) => (fix ? `${detail}: ${fix}` : detail))
        .join("; "),
    ];
  return ["The service cannot do that", error.message];
}

// The problems of a table and their fixes, from the service's `ReadingOut`.
export function sayProblem({ detail, column, lines = [], count = 1, advice }) {
  const where = [
    column && `column ${column}`,
    lines.length > 0 && `line ${lines.slice(0, 3).join(", ")}${count > 3 ? " and more" : ""}`,
  ].filter(Boolean);
  return [`${where.length ? `${where.join(", ")}: ` : ""}${detail}.`, advice ? `${advice}.` : ""];
}

export const awayNotice = (notify) => (isAway) =>
  notify(isAway ? "The service does not answer. Trying again; nothing is lost." : "");
