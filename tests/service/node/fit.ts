// Makes a fit with a client whose types are generated from openapi.yaml. A wrong type does not compile.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { argv: string[] };

const client = createClient<paths>({ baseUrl: process.argv[2] });
const X = Array.from({ length: 40 }, (_, i) => [Math.sin(i), (i % 2) * 3 + Math.cos(i), i / 40]);
const y = X.map((_, i) => (i % 2 ? "odd" : "even"));

const dataset = await client.POST("/v1/datasets", { body: { X, y, name: "from TypeScript" } });
if (dataset.error) throw new Error(dataset.error.detail);
if (!("id" in dataset.data)) throw new Error("a dry run was not asked for");

const fit = await client.POST("/v1/fits", {
  body: { dataset_id: dataset.data.id, params: { n_components: 1, n_starts: 2 }, validation: null },
  params: { header: { prefer: "wait=60" } },
});
if (fit.error) throw new Error(fit.error.detail);
const status: components["schemas"]["Status"] = fit.data.status;
if (status !== "succeeded" || !fit.data.model_id) throw new Error(`the fit is ${status}`);

const path = { model_id: fit.data.model_id };
const predicted = await client.POST("/v1/models/{model_id}/predict", { params: { path }, body: { X } });
if (predicted.error) throw new Error(predicted.error.detail);
const right = predicted.data.predictions.filter((label, i) => label === y[i]).length;

const missing = await client.GET("/v1/fits/{fit_id}", { params: { path: { fit_id: "fit_nothing" } } });
if (missing.error?.status !== 404) throw new Error("a problem was expected");

console.log(JSON.stringify({ status, right, total: y.length }));
