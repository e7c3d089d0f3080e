/* global SwaggerUIBundle */
// Shows the hub's OpenAPI document with Swagger UI. It sends requests to the hub only.
SwaggerUIBundle({
  url: '/openapi.json',
  domNode: document.getElementById('docs'),
  presets: [SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  defaultModelRendering: 'example',
  filter: true,
  persistAuthorization: false, // a token stays in this page
  validatorUrl: null,
})
