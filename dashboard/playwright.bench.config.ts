import base from './playwright.config.ts'

// make bench-dashboard: what the page costs. It measures, so nothing runs beside it.
export default {
  ...base,
  testDir: 'e2e/bench',
  testMatch: '*.bench.ts',
  fullyParallel: false,
  workers: 1,
  timeout: 300_000,
  reporter: [['line']] as [['line']],
  use: { ...base.use, trace: 'off' as const },
}
