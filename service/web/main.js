// The routes of the page. Routes are URL fragments, which can be shared, reloaded and served from any path.

import { ResponseError, onKeyNeeded, pause } from "./api.js";
import { element, replace } from "./element.js";
import { askForKey } from "./key_dialog.js";
import { explain, failure } from "./states.js";
import { compareView } from "./views/compare.js";
import { fitView } from "./views/fit.js";
import { fitsView } from "./views/fits.js";
import { lineupView } from "./views/lineup.js";
import { modelView } from "./views/model.js";
import { newFileView, newSampleView } from "./views/columns.js";
import { startView } from "./views/start.js";

const ROUTES = [
  [/^\/$/, startView],
  [/^\/new$/, newFileView],
  [/^\/samples\/([\w-]+)$/, newSampleView],
  [/^\/fits$/, fitsView],
  [/^\/fits\/(\w+)$/, fitView],
  [/^\/models\/([\w.-]+)$/, modelView],
  [/^\/models\/([\w.-]+)\/compare$/, compareView],
  [/^\/models\/([\w.-]+)\/lineup$/, lineupView],
];

const RETRY_PAUSE = 4000; // milliseconds until a view that could not be loaded is requested again

const view = document.getElementById("view");
let leaving = new AbortController();

async function show() {
  leaving.abort(new DOMException("The view was left.", "AbortError"));
  leaving = new AbortController();
  const { signal } = leaving;
  const [address, query = ""] = (location.hash.slice(1) || "/").split("?");
  const [pattern, open] = ROUTES.find(([route]) => route.test(address)) ?? [/(.*)/, unknownView];
  const place = element("div", { class: "view" });
  replace(view, place);
  markCurrent(address);
  notify("");
  try {
    await open(
      { place, signal, notify, setTitle, leave: (to) => (location.hash = to), reload: show, ...memory(address, query) },
      ...address.match(pattern).slice(1),
    );
  } catch (error) {
    if (signal.aborted) return;
    replace(place, failure(error, show));
    if (error instanceof ResponseError && error.isOutage) pause(RETRY_PAUSE, signal).then(show, () => {});
  }
}

// The state of a view is kept in the URL, so that a link shows the same; `said` is that state.
function memory(address, query) {
  const remember = (said) => {
    const text = new URLSearchParams(said).toString();
    history.replaceState(history.state, "", `#${address}${text ? `?${text}` : ""}`);
  };
  return { said: Object.fromEntries(new URLSearchParams(query)), remember };
}

function unknownView({ place, setTitle }) {
  setTitle("Nothing here");
  replace(
    place,
    element("h1", {}, "There is nothing at this address"),
    element("p", {}, element("a", { href: "#/" }, "Start again")),
  );
}

function setTitle(title) {
  document.title = title ? `${title} · melm` : "melm";
}

// The status line under the header, which screen readers announce.
function notify(text) {
  replace(document.getElementById("notice"), text);
}

function markCurrent(address) {
  for (const link of document.querySelectorAll("nav a")) {
    const isCurrent = link.getAttribute("href") === `#${address}`;
    if (isCurrent) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

// The error of a button is shown in the status line; the view is not changed.
addEventListener("unhandledrejection", (event) => {
  if (event.reason?.name !== "AbortError" && !(event.reason instanceof ResponseError)) return;
  event.preventDefault();
  if (event.reason instanceof ResponseError) notify(explain(event.reason).join(". "));
});

onKeyNeeded(askForKey);
addEventListener("hashchange", () => {
  if (location.hash === "#view") return; // the link to skip the header
  show();
  scrollTo(0, 0);
  view.focus({ preventScroll: true });
});
show();
