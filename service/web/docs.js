// The interactive reference: Swagger UI with /openapi.json. No validator, which would be on another host.

globalThis.SwaggerUIBundle({
  url: "openapi.json",
  domNode: document.getElementById("reference"),
  deepLinking: true,
  docExpansion: "list",
  validatorUrl: null,
});
