import base from './playwright.config.ts'

// Draws the recording of the README (make film).
export default {
  ...base,
  testDir: 'e2e/film',
  testMatch: '*.film.ts',
  fullyParallel: false,
  workers: 1,
  reporter: [['line']] as [['line']],
  use: { ...base.use, trace: 'off' as const, viewport: { width: 960, height: 600 } },
}
