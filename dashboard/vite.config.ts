import { svelte } from '@sveltejs/vite-plugin-svelte'
import { svelteTesting } from '@testing-library/svelte/vite'
import type { IncomingMessage } from 'node:http'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import type { Plugin, ProxyOptions } from 'vite'
import { chunks } from './chunks.ts'
import { compressFiles } from './compress.ts'
import { writeSources } from './sources.ts'

const hub = process.env.HOOKBACK_URL ?? 'http://127.0.0.1:4000'

// The hub accepts requests from its own origin only, so the development server sends the
// hub's origin.
const toHub: ProxyOptions = {
  target: hub,
  changeOrigin: true,
  configure(proxy) {
    proxy.on('proxyReq', (out) => {
      if (out.hasHeader('origin')) out.setHeader('origin', hub)
    })
    proxy.on('proxyReqWs', (out) => out.setHeader('origin', hub))
  },
}

/** Draws Lucide's icons with the dashboard's own component. */
const ownIcon: Plugin = {
  name: 'own-icon',
  enforce: 'pre',
  resolveId: (source, importer) =>
    source === '../Icon.svelte' && importer?.includes('/@lucide/svelte/')
      ? fileURLToPath(new URL('src/lib/ui/Icon.svelte', import.meta.url))
      : undefined,
}

const wantsPage = (req: IncomingMessage) =>
  req.headers.accept?.includes('text/html') ? '/index.html' : undefined

export default defineConfig({
  plugins: [ownIcon, svelte(), svelteTesting(), compressFiles(), writeSources()],
  build: {
    target: ['chrome123', 'firefox128', 'safari17.5'],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: { codeSplitting: chunks(fileURLToPath(new URL('src/main.ts', import.meta.url))) },
    },
    chunkSizeWarningLimit: 300,
  },
  server: {
    host: '127.0.0.1',
    fs: { allow: ['..'] }, // tests read the documents of the hub
    proxy: {
      '/api': toHub,
      '/events': toHub,
      '/healthz': toHub,
      '/openapi.json': toHub,
      '/docs': { ...toHub, bypass: wantsPage },
      '/licenses': { ...toHub, bypass: wantsPage },
      '/stream': { ...toHub, ws: true, bypass: wantsPage },
    },
  },
  test: {
    environment: 'happy-dom',
    include: ['src/**/*.test.ts'],
    setupFiles: ['src/testing/setup.ts'],
    restoreMocks: true,
    // A thread runs many files with one document and one copy of each module: a new one for each
    // file took four fifths of the time.
    pool: 'threads',
    isolate: false,
    // Generous, because a busy machine can stall for seconds.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
