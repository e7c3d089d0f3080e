// Writes NAME.br and NAME.gz next to each file of the build that becomes smaller, so that the hub
// starts without compressing anything.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

const text = /\.(css|html|js|json|svg|txt|webmanifest)$/

export function compressFiles(): Plugin {
  let outDir = ''
  return {
    name: 'hookback-compress',
    apply: 'build',
    configResolved(config) {
      outDir = resolve(config.root, config.build.outDir)
    },
    closeBundle() {
      for (const name of readdirSync(outDir, { recursive: true, encoding: 'utf8' })) {
        if (!text.test(name)) continue
        const file = join(outDir, name)
        const content = readFileSync(file)
        const br = brotliCompressSync(content, {
          params: {
            [constants.BROTLI_PARAM_QUALITY]: 11,
            [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
          },
        })
        const gz = gzipSync(content, { level: 9 })
        if (Math.max(br.length, gz.length) >= content.length) continue
        writeFileSync(`${file}.br`, br)
        writeFileSync(`${file}.gz`, gz)
      }
    },
  }
}
