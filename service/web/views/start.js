// The start page: upload a table, try a sample, or return to an earlier fit.

import { get } from "../api.js";
import { keepFile } from "../chosen_file.js";
import { element, replace } from "../element.js";
import { explain, sayProblem } from "../states.js";
import { ENDINGS, asFile, read } from "../tables.js";
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
        "Drop a table with a column of classes. You get the projection in which the classes are furthest apart, and evidence on whether that holds for rows it has not seen.",
      ),
    ),
    dropZone(leave),
    element("section", {}, element("h2", {}, "Or try one of these"), samples),
    recent,
  );
  const [known, fits] = await Promise.all([get("v1/samples", { signal }), recentFits(signal)]);
  replace(samples, known.data.map(sampleCard));
  const shown = fits.slice(0, RECENT);
  if (!shown.length) return;
  recent.hidden = false;
  replace(
    recent,
    element("h2", {}, "Recent fits"),
    await fitList(shown),
    element("p", {}, element("a", { href: "#/fits" }, "All fits and models")),
  );
}

// A key with the scope `predict` cannot list fits.
async function recentFits(signal) {
  try {
    return (await get(`v1/fits?limit=${RECENT}`, { signal })).data;
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
  const input = element("input", { type: "file", id: "file", accept: [...ENDINGS, "text/csv", "text/plain"].join(",") });
  const zone = element(
    "div",
    { class: "drop" },
    element(
      "label",
      { for: "file" },
      element("span", { class: "button primary" }, "Choose a file"),
      element("span", {}, "or drop it here"),
    ),
    input,
    element(
      "p",
      { class: "hint" },
      "CSV in any dialect, Excel, Parquet, Arrow, JSON or npz, with a column of classes.",
    ),
    trouble,
  );
  const complain = (name, title, remedy) =>
    replace(trouble, element("p", { class: "trouble" }, element("strong", {}, `${name}: ${title}`), remedy && element("span", { class: "sentence" }, remedy)));
  const take = async (chosen) => {
    replace(trouble);
    try {
      const file = asFile(chosen);
      const { columns, problems } = await read(file);
      if (!columns.length) return complain(chosen.name, ...sayProblem(problems[0]));
      await keepFile(file);
      leave("/new");
    } catch (error) {
      complain(chosen.name, ...explain(error));
    } finally {
      input.value = ""; // so that the same file can be chosen again after it was corrected
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
