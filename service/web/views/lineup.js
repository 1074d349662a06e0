// The real picture among eight of shuffled classes: if nobody can tell which one is real, the separation is not.

import { ended, get, post, request } from "../api.js";
import { thumbnail } from "../charts/thumbnail.js";
import { button, element, replace } from "../element.js";
import { findTable } from "../local_tables.js";
import { awayNotice, loading } from "../states.js";
import { upload } from "../upload.js";

const DECOYS = 8;
const STARTS = 4; // enough to over-fit noise as the real fit would

export async function lineupView({ place, signal, notify, setTitle }, modelId) {
  replace(place, loading("Getting the model"));
  const model = await get(`v1/models/${modelId}`, { signal });
  const name = model.name ?? model.id;
  setTitle(`${name}, lineup`);
  const back = element("a", { class: "button", href: `#/models/${modelId}` }, "Back to the model");
  const intro = [
    element("h1", {}, "Which one is real?"),
    element(
      "p",
      { class: "lead" },
      "One of these nine shows your classes. The other eight are fits to the same rows with the classes shuffled, so whatever they show is chance.",
    ),
  ];
  const table = model.dataset_id && (await findTable(model.dataset_id));
  if (!table) {
    replace(
      place,
      intro,
      element(
        "p",
        { class: "trouble" },
        "Shuffling needs the rows themselves. They are not in this browser, and the service gives none out: choose the file here and fit it once, and the lineup can begin.",
      ),
      back,
    );
    return;
  }
  const status = element("p", { role: "status" }, `Fitting ${DECOYS} decoys …`);
  const grid = element(
    "ul",
    { class: "tiles lineup" },
    Array.from({ length: DECOYS + 1 }, () =>
      element("li", { class: "tile" }, element("div", { class: "thumbnail waiting" })),
    ),
  );
  replace(place, intro, status, grid, element("p", { class: "actions" }, back));

  const decoys = Array.from({ length: DECOYS }, (_, index) =>
    drawDecoy(table, model, name, index, signal, awayNotice(notify)),
  );
  const real = Math.floor(Math.random() * (DECOYS + 1));
  const plots = await Promise.all(decoys);
  plots.splice(real, 0, await get(`v1/models/${modelId}/plot`, { signal }));
  status.textContent = "Choose the one that you think is real.";
  let isOpen = true;
  const choose = (index) => {
    if (!isOpen) return;
    isOpen = false;
    status.textContent =
      index === real
        ? "Right. By chance that happens once in nine times; the separation can be told from noise."
        : "That was noise. The real one is marked: the separation is hard to tell from chance, so do not rely on the picture.";
    [...grid.children].forEach((tile, at) => tile.classList.toggle("real", at === real));
  };
  replace(
    grid,
    plots.map((plot, index) =>
      element(
        "li",
        { class: "tile" },
        thumbnail(plot, `Picture ${index + 1}`),
        button(`Picture ${index + 1}`, () => choose(index)),
      ),
    ),
  );
}

// The picture of a fit to shuffled classes. What it left on the service is deleted: nobody comes back to it.
async function drawDecoy(table, model, name, index, signal, onOutage) {
  const title = `${name}, shuffled ${index + 1}`;
  const dataset = await upload(table, title, { signal, labels: shuffle(table.labels) });
  const fit = await post(
    "v1/fits",
    {
      dataset_id: dataset.id,
      method: model.method,
      params: { ...model.card.parameters, ...(model.card.parameters.n_starts && { n_starts: STARTS }) },
      validation: null,
      name: title,
      metadata: { lineup: model.id },
    },
    { signal },
  );
  const done = await ended(fit.id, { signal, onOutage });
  if (done.status !== "succeeded") throw new Error(done.error?.message ?? `A decoy was ${done.status}.`);
  const plot = await get(`v1/models/${done.model_id}/plot`, { signal });
  for (const path of [`v1/models/${done.model_id}`, `v1/datasets/${dataset.id}`]) {
    await request(path, { method: "DELETE", signal });
  }
  return plot;
}

function shuffle(labels) {
  const shuffled = [...labels];
  for (let index = shuffled.length - 1; index > 0; index -= 1) {
    const other = Math.floor(Math.random() * (index + 1));
    [shuffled[index], shuffled[other]] = [shuffled[other], shuffled[index]];
  }
  return shuffled;
}
