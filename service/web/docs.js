// The interactive reference: Swagger UI on the service's own description. No validator, which would be another host.

globalThis.SwaggerUIBundle({
  url: "openapi.json",
  domNode: document.getElementById("reference"),
  deepLinking: true,
  docExpansion: "list",
  validatorUrl: null,
});
