/* global SwaggerUIBundle */
// Shows the hub's OpenAPI document with Swagger UI. It sends requests to the hub only.
const theme = /"theme":"(dark|light)"/.exec(localStorage.getItem('hookback.settings') ?? '')?.[1]
const dark = matchMedia('(prefers-color-scheme: dark)')
const paint = () =>
  document.documentElement.classList.toggle(
    'dark-mode',
    theme === 'dark' || (theme !== 'light' && dark.matches),
  )
paint()
dark.addEventListener('change', paint)

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
