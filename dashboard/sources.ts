// Writes dist/.sources: a SHA-256 over all inputs of dist, so that a Go test can detect
// a stale dist without Node.
//
// The algorithm, which the Go test repeats:
//   1. List every file below src/ and public/, and the files in `single`, as paths
//      relative to dashboard/ with forward slashes. Exclude tests (*.test.ts),
//      goldens (*.golden.ts) and src/testing/, which are not part of dist.
//   2. Sort the paths by their bytes.
//   3. For each path, append to one text: the path, a NUL byte, the lower-case hex
//      SHA-256 of the file's bytes, a newline.
//   4. .sources contains the lower-case hex SHA-256 of that text, and a newline.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Plugin } from 'vite'

const single = [
  'compress.ts',
  'index.html',
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
