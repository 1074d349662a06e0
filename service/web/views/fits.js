// All fits and models, grouped by dataset, with their scores on held-out rows.

import { get, request } from "../api.js";
import { button, element, replace } from "../element.js";
import { MEANINGS } from "../meanings.js";
import { chosenOf, titleOf } from "../methods.js";
import { loading } from "../states.js";
import { ago, bytes, plural, score } from "../words.js";

const STATUS = { queued: "waiting", running: "running", succeeded: "done", failed: "failed", canceled: "canceled" };
const PAGE = 100;
const MOST = 1000; // entries that are listed
const AT_ONCE = 4; // concurrent requests for cards
const HIDDEN_PARAMS = new Set(["seed", "n_components"]);

export async function fitsView(context) {
  const { place, signal, setTitle } = context;
  setTitle("Fits and models");
  replace(place, loading("Getting the list"));
  const [fits, models, datasets] = await Promise.all(["fits", "models", "datasets"].map((path) => everything(path, signal)));
  const stored = new Map(models.map((model) => [model.id, model]));
  const present = fits.filter(({ model_id: id }) => id === null || stored.has(id)); // without fits whose model was deleted
  const scores = new Scores(signal);
  const groups = datasets.map((dataset) => new Group(dataset.id, datasetTitle(dataset, present), datasetFacts(dataset)));
  const known = new Map(groups.map((group) => [group.datasetId, group]));
  const gone = new Group(null, "Rows were deleted", "The models stay, their rows are gone.");
  const imported = new Group(null, "Imported models", "");
  const remove = (node, group) => () => (node.remove(), group.close());
  for (const fit of present) {
    const group = known.get(fit.dataset_id) ?? gone;
    const item = await fitItem(fit, stored.get(fit.model_id), scores);
    if (fit.model_id) item.append(deletion(`v1/models/${fit.model_id}`, nameOf(fit), remove(item, group)));
    group.add(item);
  }
  for (const model of models.filter(({ fit_id: fitId }) => fitId === null)) {
    const item = await modelItem(model, scores);
    item.append(deletion(`v1/models/${model.id}`, nameOf(model), remove(item, imported)));
    imported.add(item);
  }
  for (const group of groups) group.close();
  const shown = [...groups, gone, imported].filter((group) => group.datasetId || group.size);
  const empty = element(
    "div",
    { class: "empty" },
    element("p", {}, "Nothing has been fitted yet. What you fit is listed here, and stays when you close the page."),
    element("a", { class: "button primary", href: "#/" }, "Begin with a table"),
  );
  replace(
    place,
    element("h1", {}, "Fits and models"),
    shown.length ? [search(shown), shown.map(({ node }) => node)] : empty,
  );
}

// The fits of one dataset.
class Group {
  constructor(datasetId, title, facts) {
    this.datasetId = datasetId;
    this.items = element("ul", { class: "fits" });
    this.head = element("div", { class: "row" }, element("h2", {}, title), facts && element("span", { class: "hint" }, facts));
    this.node = element("section", { class: "dataset" }, this.head, this.items);
    this.title = title;
  }

  get size() {
    return this.items.children.length;
  }

  add(item) {
    this.items.append(item);
  }

  // A dataset without fits can be deleted.
  close() {
    if (this.size) return;
    if (this.datasetId) this.head.append(deletion(`v1/datasets/${this.datasetId}`, `the rows of ${this.title}`, () => this.node.remove()));
    else this.node.remove();
  }

  // Shows the items that match a search term; all of them if the title of the dataset matches.
  filter(word) {
    const has = (text) => text.toLowerCase().includes(word);
    const isAll = has(this.head.textContent);
    for (const item of this.items.children) item.hidden = !(isAll || has(item.textContent));
    this.node.hidden = !isAll && ![...this.items.children].some((item) => !item.hidden);
  }
}

function search(groups) {
  const input = element("input", { type: "search", class: "search-fits", "aria-label": "Search fits", placeholder: "Search by name, method or class" });
  input.addEventListener("input", () => groups.forEach((group) => group.filter(input.value.trim().toLowerCase())));
  return input;
}

// Held-out scores, from the cards of models, which are requested a few at a time.
class Scores {
  constructor(signal) {
    this.signal = signal;
    this.waiting = [];
    this.running = 0;
  }

  of(modelId) {
    const node = element("span", { class: "score" }, "…");
    this.waiting.push([modelId, node]);
    this.next();
    return node;
  }

  async next() {
    if (this.running >= AT_ONCE || !this.waiting.length) return;
    this.running += 1;
    const [modelId, node] = this.waiting.shift();
    const model = await get(`v1/models/${modelId}`, { signal: this.signal }).catch(() => null);
    const validation = model?.card.validation;
    replace(node, validation ? score(validation.balanced_accuracy) : "–");
    node.title = validation ? `Balanced accuracy on held-out rows. ${MEANINGS.heldOut}` : "Not judged on held-out rows.";
    this.running -= 1;
    this.next();
  }
}

async function everything(path, signal) {
  let [found, cursor] = [[], null];
  do {
    const page = await get(`v1/${path}?limit=${PAGE}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`, { signal });
    found = found.concat(page.data);
    cursor = page.next_cursor;
  } while (cursor && found.length < MOST);
  return found;
}

export async function fitList(fits) {
  return element("ul", { class: "fits recent-fits" }, await Promise.all(fits.map((fit) => fitItem(fit))));
}

const nameOf = ({ name, id }) => name ?? `Unnamed …${id.slice(-6)}`;
const datasetTitle = ({ id, name }, fits) => name ?? fits.find(({ dataset_id: of }) => of === id)?.name ?? `Rows …${id.slice(-6)}`;

function datasetFacts({ n_rows: rows, n_features: features, columns, classes }) {
  const used = columns?.filter(({ role }) => ["numeric", "categorical", "time"].includes(role)).length ?? features;
  return [plural(rows, "row"), plural(used, "column"), `${plural(classes.length, "class", "classes")}: ${classes.slice(0, 6).join(", ")}${classes.length > 6 ? " …" : ""}`].join(" · ");
}

// Asks for confirmation before it deletes.
function deletion(path, name, onDone) {
  const ask = button("Delete", () => ask.replaceWith(confirm), "small quiet");
  const act = async () => {
    confirm.disabled = true;
    await request(path, { method: "DELETE" }).catch((error) => {
      confirm.replaceWith(ask);
      throw error;
    });
    onDone();
  };
  const confirm = button("Delete for good", act, "small danger");
  confirm.addEventListener("blur", () => !confirm.disabled && confirm.replaceWith(ask));
  ask.setAttribute("aria-label", `Delete ${name}`);
  confirm.setAttribute("aria-label", `Delete ${name} for good`);
  ask.addEventListener("click", () => confirm.focus());
  return ask;
}

async function fitItem(fit, model, scores) {
  return element(
    "li",
    {},
    element("a", { href: `#/fits/${fit.id}` }, nameOf(fit)),
    element("span", { class: "method" }, await describe(fit)),
    scores && (fit.status === "succeeded" ? scores.of(fit.model_id) : element("span")),
    scores && element("span", { class: "method" }, model ? bytes(model.n_bytes) : ""),
    element("span", { class: `status ${fit.status}` }, STATUS[fit.status]),
    element("time", { datetime: fit.created_at, title: new Date(fit.created_at).toLocaleString() }, ago(fit.created_at)),
  );
}

// The method and the parameters in which the fits of a dataset differ.
async function describe({ method, params }) {
  const { n_components: k } = params;
  const told = [await titleOf(method), k && plural(k, "dimension"), ...(await chosen(method, params))];
  return told.filter(Boolean).join(" · ");
}

async function chosen(method, params) {
  const { params: said } = await chosenOf(method, { params });
  return Object.entries(said)
    .filter(([name, value]) => !HIDDEN_PARAMS.has(name) && typeof value !== "object")
    .map(([name, value]) => (name.startsWith("n_") ? `${value} ${name.slice(2)}` : `${name.replaceAll("_", " ")} ${value}`));
}

async function modelItem(model, scores) {
  return element(
    "li",
    {},
    element("a", { href: `#/models/${model.id}` }, nameOf(model)),
    element("span", { class: "method" }, await titleOf(model.method)),
    scores.of(model.id),
    element("span", { class: "method" }, bytes(model.n_bytes)),
    element("span", { class: "status succeeded" }, "imported"),
    element("time", { datetime: model.created_at }, ago(model.created_at)),
  );
}
