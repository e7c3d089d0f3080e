// Copies Swagger UI to docs/ next to the page in public/docs, so the hub serves its API
// reference at /docs without a CDN. Swagger UI is not part of any dashboard bundle.
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Plugin } from 'vite'

const files = ['swagger-ui-bundle.js', 'swagger-ui-bundle.js.LICENSE.txt', 'swagger-ui.css']

export function copyViewer(): Plugin {
  const contents = new Map<string, Buffer>()
  return {
    name: 'hookback-docs',
    apply: 'build',
    configResolved(config) {
      // If node_modules is older than the lockfile and lacks Swagger UI, keep the committed
      // copy. It is read here because Vite empties dist later. CI installs from the lockfile.
      const installed = resolve(config.root, 'node_modules/swagger-ui-dist')
      const from = existsSync(installed) ? installed : resolve(config.root, 'dist/docs')
      for (const name of files) contents.set(name, readFileSync(join(from, name)))
    },
    generateBundle() {
      for (const [name, content] of contents) {
        // The source map is not served.
        const source = content
          .toString('utf8')
          .replace(/\n?(\/\/|\/\*)# sourceMappingURL=\S+( \*\/)?\s*$/, '\n')
        this.emitFile({ type: 'asset', fileName: `docs/${name}`, source })
      }
    },
  }
}
