// Copies Swagger UI beside public/docs, so that the hub shows its interface at /docs
// without asking anybody else. It is a program of its own, in no bundle of the dashboard's.
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
      // A tree whose node_modules is older than the lockfile keeps what was committed:
      // dist is emptied later. CI installs what the lockfile says.
      const installed = resolve(config.root, 'node_modules/swagger-ui-dist')
      const from = existsSync(installed) ? installed : resolve(config.root, 'dist/docs')
      for (const name of files) contents.set(name, readFileSync(join(from, name)))
    },
    generateBundle() {
      for (const [name, content] of contents) {
        // Without its source map, which is not served.
        const source = content
          .toString('utf8')
          .replace(/\n?(\/\/|\/\*)# sourceMappingURL=\S+( \*\/)?\s*$/, '\n')
        this.emitFile({ type: 'asset', fileName: `docs/${name}`, source })
      }
    },
  }
}
