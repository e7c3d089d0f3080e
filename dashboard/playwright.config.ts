import { defineConfig } from '@playwright/test'

// The browser is the distribution's own: CHROMIUM says where, the usual path else.
export default defineConfig({
  testDir: 'e2e',
  globalSetup: './e2e/build-hub.ts',
  fullyParallel: true,
  workers: 2,
  forbidOnly: !!process.env.CI,
  // A shared machine can stand still for seconds. What fails twice is broken; what needs
  // the second try is named "flaky" at the end.
  retries: process.env.CI ? 1 : 0,
  timeout: 30_000,
  expect: { timeout: 8_000 },
  reporter: [['list']],
  use: {
    viewport: { width: 1360, height: 860 },
    // To record every test takes as long as to run it, and three times as long where a page
    // is big. What fails is recorded on its second try; by hand: --trace on.
    trace: 'on-first-retry',
    launchOptions: {
      executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    },
  },
})
