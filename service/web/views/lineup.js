// The lineup: find the real picture among eight of fits to permuted labels, in several rounds (visual inference).

import { ended, get, post, request } from "../api.js";
import { thumbnail } from "../charts/thumbnail.js";
import { button, element, replace } from "../element.js";
import { awayNotice, loading } from "../states.js";
import { plural, score } from "../words.js";

const DECOYS = 8;
const STARTS = 4; // enough to overfit noise as the real fit would
const ENOUGH = 0.05; // significance level

export async function lineupView({ place, signal, notify, setTitle }, modelId) {
  replace(place, loading("Getting the model"));
  const model = await get(`v1/models/${modelId}`, { signal });
  const name = model.name ?? model.id;
  setTitle(`${name}, lineup`);
  const real = await get(`v1/models/${modelId}/plot`, { signal });
  const status = element("p", { role: "status" });
  const grid = element("ul", { class: "tiles lineup" });
  const actions = element("p", { class: "actions" });
  const back = element("a", { class: "button", href: `#/models/${modelId}` }, "Back to the model");
  replace(
    place,
    element("h1", {}, "Which one is real?"),
    element(
      "p",
      { class: "lead" },
      "One of these nine pictures shows your classes. The other eight are fits to the same rows with shuffled classes, so anything they show is chance.",
    ),
    status,
    grid,
    actions,
  );
  const tries = { count: 0, right: 0 };
  const begin = () => Array.from({ length: DECOYS }, () => drawDecoy(model, name, signal, awayNotice(notify)));
  let decoys = begin();

  const round = async () => {
    replace(actions, back);
    let done = 0;
    const tell = () => (status.textContent = `${done} of ${DECOYS} fits to shuffled classes are done …`);
    tell();
    for (const decoy of decoys) decoy.then(() => ((done += 1), done < DECOYS && tell()), () => {});
    replace(
      grid,
      Array.from({ length: DECOYS + 1 }, () =>
        element("li", { class: "tile" }, element("div", { class: "thumbnail waiting" })),
      ),
    );
    const plots = await Promise.all(decoys);
    const position = Math.floor(Math.random() * (DECOYS + 1));
    plots.splice(position, 0, real);
    status.textContent = "Choose the one that you think is real.";
    let isOpen = true;
    const choose = (index) => {
      if (!isOpen) return;
      isOpen = false;
      decoys = begin(); // for the next round, computed during this one
      for (const decoy of decoys) decoy.catch(() => {}); // errors are handled when they are awaited
      tries.count += 1;
      tries.right += index === position;
      status.textContent = `${index === position ? "Right." : "No, that was noise. The real one is marked."} ${judge(tries)}`;
      [...grid.children].forEach((tile, at) => tile.classList.toggle("real", at === position));
      replace(actions, button("Another round", round, "primary"), back);
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
  };
  await round();
}

// One round says little: chance is right once in nine.
function judge({ count, right }) {
  const chance = atLeast(right, count, 1 / (DECOYS + 1));
  const told = `${right} of ${plural(count, "round")} right; by chance that or better happens with probability ${score(chance)}.`;
  if (chance < ENOUGH) return `${told} The separation is more than chance.`;
  if (count < 2) return `${told} Play another round before you judge.`;
  return `${told} The separation cannot be told from chance, so do not rely on the picture.`;
}

// The binomial probability of at least so many hits by chance.
function atLeast(hits, count, chance) {
  let [term, sum] = [(1 - chance) ** count, 0];
  for (let k = 0; k <= count; k += 1) {
    if (k >= hits) sum += term;
    term *= ((count - k) / (k + 1)) * (chance / (1 - chance));
  }
  return sum;
}

// The picture of a fit to permuted labels. The fit is canceled when the view is left; its model is deleted.
async function drawDecoy(model, name, signal, onOutage) {
  const fit = await post(
    "v1/fits",
    {
      dataset_id: model.dataset_id,
      method: model.method,
      params: { ...model.card.parameters, ...(model.card.parameters.n_starts && { n_starts: STARTS }) },
      validation: null,
      permute_labels: Math.floor(Math.random() * 2 ** 40),
      name: `${name}, labels permuted`,
    },
    { signal },
  );
  const leave = () => request(`v1/fits/${fit.id}/cancel`, { method: "POST" }).catch(() => {});
  signal.addEventListener("abort", leave, { once: true });
  const done = await ended(fit.id, { signal, onOutage });
  signal.removeEventListener("abort", leave);
  if (done.status !== "succeeded") throw new Error(done.error?.message ?? `A decoy was ${done.status}.`);
  const plot = await get(`v1/models/${done.model_id}/plot`, { signal });
  await request(`v1/models/${done.model_id}`, { method: "DELETE", signal });
  return plot;
}
