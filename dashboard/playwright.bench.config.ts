import base from './playwright.config.ts'

// Benchmarks of the dashboard (make bench-dashboard). They run alone: other load would distort them.
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
