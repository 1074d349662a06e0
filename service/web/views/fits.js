// Fits and models to come back to.

import { get } from "../api.js";
import { button, element, replace } from "../element.js";
import { titleOf } from "../methods.js";
import { loading } from "../states.js";
import { ago } from "../words.js";

const STATUS = { queued: "waiting", running: "running", succeeded: "done", failed: "failed", canceled: "canceled" };

export async function fitsView({ place, signal, setTitle }) {
  setTitle("Fits and models");
  replace(place, loading("Getting the list"));
  const items = element("div");
  const rest = element("p");
  let cursor = null,
    shown = 0;
  const more = async () => {
    const page = await get(`v1/fits?limit=50${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`, { signal });
    const fits = page.data;
    shown += fits.length;
    cursor = page.next_cursor;
    if (fits.length) items.append(await fitList(fits));
    replace(rest, cursor && button("Show more", more));
  };
  await more();
  const models = (await get("v1/models?limit=100", { signal })).data.filter(({ fit_id }) => fit_id === null);
  replace(
    place,
    element("h1", {}, "Fits and models"),
    shown === 0 &&
      element(
        "div",
        { class: "empty" },
        element(
          "p",
          {},
          "Nothing has been fitted yet. What you fit will be listed here, and stays when you close the page.",
        ),
        element("a", { class: "button primary", href: "#/" }, "Begin with a table"),
      ),
    items,
    rest,
    models.length > 0 && [
      element("h2", {}, "Imported models"),
      element("ul", { class: "fits" }, await Promise.all(models.map(modelItem))),
    ],
  );
}

export async function fitList(fits) {
  return element("ul", { class: "fits" }, await Promise.all(fits.map(fitItem)));
}

const nameOf = ({ name, id }) => name ?? `Unnamed …${id.slice(-6)}`;

async function fitItem(fit) {
  const k = fit.params.n_components;
  return element(
    "li",
    {},
    element("a", { href: `#/fits/${fit.id}` }, nameOf(fit)),
    element(
      "span",
      { class: "method" },
      `${await titleOf(fit.method)}${k ? ` · ${k} ${k === 1 ? "dimension" : "dimensions"}` : ""}`,
    ),
    element("span", { class: `status ${fit.status}` }, STATUS[fit.status]),
    element(
      "time",
      { datetime: fit.created_at, title: new Date(fit.created_at).toLocaleString() },
      ago(fit.created_at),
    ),
  );
}

async function modelItem(model) {
  return element(
    "li",
    {},
    element("a", { href: `#/models/${model.id}` }, nameOf(model)),
    element("span", { class: "method" }, await titleOf(model.method)),
    element("span", { class: "status succeeded" }, "imported"),
    element("time", { datetime: model.created_at }, ago(model.created_at)),
  );
}
