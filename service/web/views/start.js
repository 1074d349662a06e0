// The beginning: a table to drop, samples to try, fits to come back to.

import { get } from "../api.js";
import { BadTable, parseTable, readText } from "../csv.js";
import { element, replace } from "../element.js";
import { keepPending } from "../local_tables.js";
import { explain } from "../states.js";
import { count, plural } from "../words.js";
import { fitList } from "./fits.js";

const RECENT = 5;

export async function startView({ place, signal, setTitle, leave }) {
  setTitle("");
  const samples = element(
    "ul",
    { class: "samples" },
    Array.from({ length: 4 }, () => element("li", { class: "sample placeholder" })),
  );
  const recent = element("section", { class: "recent", hidden: true });
  replace(
    place,
    element(
      "div",
      { class: "intro" },
      element("h1", {}, "See your classes separate"),
      element(
        "p",
        { class: "lead" },
        "Drop a table of numbers with a column of classes. You get the flat view of it in which the classes are furthest apart, and an honest word on whether that holds for rows it has not seen.",
      ),
    ),
    dropZone(leave),
    element("section", {}, element("h2", {}, "Or try one of these"), samples),
    recent,
  );
  const [known, fits] = await Promise.all([get("v1/samples", { signal }), recentFits(signal)]);
  replace(samples, known.data.map(sampleCard));
  const shown = fits.filter(({ metadata }) => !metadata.lineup).slice(0, RECENT);
  if (!shown.length) return;
  recent.hidden = false;
  replace(
    recent,
    element("h2", {}, "Recent fits"),
    await fitList(shown),
    element("p", {}, element("a", { href: "#/fits" }, "All fits and models")),
  );
}

// A key that may only predict sees no fits.
async function recentFits(signal) {
  try {
    return (await get(`v1/fits?limit=${4 * RECENT}`, { signal })).data;
  } catch (error) {
    if (error.status !== 403) throw error;
    return [];
  }
}

function sampleCard({ name, title, description, n_rows, n_features, n_classes }) {
  return element(
    "li",
    { class: "sample" },
    element("a", { href: `#/samples/${name}` }, title),
    element("p", {}, description),
    element("p", { class: "facts" }, `${count(n_rows)} × ${n_features}, ${plural(n_classes, "class", "classes")}`),
  );
}

function dropZone(leave) {
  const trouble = element("div", { role: "alert" });
  const input = element("input", { type: "file", id: "file", accept: ".csv,.tsv,.txt,text/csv,text/plain" });
  const zone = element(
    "div",
    { class: "drop" },
    element(
      "label",
      { for: "file" },
      element("span", { class: "button primary" }, "Choose a CSV file"),
      element("span", {}, "or drop it here"),
    ),
    input,
    element(
      "p",
      { class: "hint" },
      "Separated by commas, semicolons or tabs; decimal points or commas; one line a row.",
    ),
    trouble,
  );
  const take = async (file) => {
    replace(trouble);
    try {
      const text = await readText(file);
      parseTable(text);
      await keepPending({ name: file.name.replace(/\.\w+$/, ""), text });
      leave("/new");
    } catch (error) {
      if (!(error instanceof BadTable)) throw error;
      const [title, remedy] = explain(error);
      replace(
        trouble,
        element("p", { class: "trouble" }, element("strong", {}, `${file.name}: ${title}`), ` ${remedy}`),
      );
    } finally {
      input.value = ""; // so that the same file can be chosen again once it is mended
    }
  };
  input.addEventListener("change", () => input.files.length && take(input.files[0]));
  zone.addEventListener("dragover", (event) => (event.preventDefault(), zone.classList.add("over")));
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    if (event.dataTransfer.files.length) take(event.dataTransfer.files[0]);
  });
  return zone;
}
