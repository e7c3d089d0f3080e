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
    trace: 'retain-on-failure',
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
