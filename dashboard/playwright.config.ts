import { defineConfig } from '@playwright/test'
import { fileURLToPath } from 'node:url'

const browser = process.env.CHROMIUM || '/usr/bin/chromium'

const launchOptions = (executablePath: string) => ({
  executablePath,
  // The fonts of the tests, not those of the machine.
  env: { ...process.env, FONTCONFIG_FILE: fileURLToPath(new URL('e2e/fonts.conf', import.meta.url)) },
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
})

/** For tests of what the headless shell of Chromium lacks, as notifications. */
export const wholeBrowser = { launchOptions: launchOptions(browser) }

// CHROMIUM is the path of the system's browser, CHROMIUM_SHELL that of its headless shell, which
// computes a quarter less: it opens no window with a page of its own for every context.
export default defineConfig({
  testDir: 'e2e',
  globalSetup: './e2e/build-binaries.ts',
  fullyParallel: true,
  workers: 3, // they wait more than they compute
  forbidOnly: !!process.env.CI,
  // A shared machine can stall for seconds. The limits only end tests that hang.
  timeout: 600_000, // the longest tests look at every screen, on a busy machine
  expect: { timeout: 60_000 },
  reporter: [['list'], ['./e2e/failed-reporter.ts']],
  use: {
    viewport: { width: 1360, height: 860 },
    // Tracing doubles the time of a test, or triples it on a large page. scripts/test.sh traces
    // the tests that failed when it repeats them.
    trace: 'off',
    launchOptions: launchOptions(process.env.CHROMIUM_SHELL || browser),
  },
})
