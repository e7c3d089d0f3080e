// Writes dist/.sources: one sha256 over everything dist is built from, so that a
// Go test can tell a stale dist without Node.
//
// The algorithm, to be recomputed elsewhere:
//   1. Take every file below src/ and public/, and the files named in `single`,
//      as paths relative to dashboard/ with forward slashes. Tests (*.test.ts),
//      goldens (*.golden.ts) and src/testing/ are left out: they don't end up in dist.
//   2. Sort the paths by their bytes.
//   3. For each path, append to one text: path, a NUL byte, the lower-case hex
//      sha256 of the file's bytes, a newline.
//   4. .sources holds the lower-case hex sha256 of that text, and a newline.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Plugin } from 'vite'

const single = [
  'index.html',
  'docs.ts',
  'package.json',
  'package-lock.json',
  'sources.ts',
  'svelte.config.js',
  'tsconfig.json',
  'vite.config.ts',
]

const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex')

function sources(root: string): string[] {
  const below = (dir: string) =>
    readdirSync(join(root, dir), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
      .map((path) => path.replaceAll('\\', '/'))
      .filter((path) => !/\.(test|golden)\.ts$/.test(path) && !path.startsWith('src/testing/'))
  const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
  return [...below('src'), ...below('public'), ...single].sort(byBytes)
}

export function sourcesHash(root: string): string {
  return sha256(
    sources(root)
      .map((path) => `${path}\0${sha256(readFileSync(join(root, path)))}\n`)
      .join(''),
  )
}

export function writeSources(): Plugin {
  let root = ''
  let outDir = ''
  return {
    name: 'hookback-sources',
    apply: 'build',
    configResolved(config) {
      root = config.root
      outDir = config.build.outDir
    },
    closeBundle() {
      writeFileSync(join(resolve(root, outDir), '.sources'), sourcesHash(root) + '\n')
    },
  }
}
