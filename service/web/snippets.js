// The same from a program: what the page did, as Python and as curl.

// `wish` is what was chosen: { params, validation? }.
export function pythonSnippet(model, wish) {
  const options = Object.entries(wish).map(([name, value]) => `, ${name}=${asPython(value)}`);
  return `from melm.remote import Client

client = Client("${serviceUrl()}")
dataset = client.datasets.upload(X, y)
fit = client.fits.submit(dataset, method="${model.method}"${options.join("")})
model = fit.wait()
Z = model.transform(X)
labels = model.predict(X)`;
}

export function curlSnippet(model, wish, target) {
  const body = JSON.stringify({ dataset_id: model.dataset_id ?? "ds_...", method: model.method, ...wish });
  return `service=${serviceUrl()}
curl "$service/v1/datasets?target=${encodeURIComponent(target)}" \\
  -H 'Content-Type: text/csv' --data-binary @table.csv
curl "$service/v1/fits" -H 'Prefer: wait=60' \\
  --json '${body}'
curl "$service/v1/models/${model.id}/predict" \\
  -H 'Content-Type: text/csv' --data-binary @new.csv`;
}

const asPython = (value) =>
  JSON.stringify(value).replaceAll("null", "None").replaceAll("true", "True").replaceAll("false", "False");
const serviceUrl = () => (location.origin + location.pathname).replace(/\/$/, "");
