import base from './playwright.config.ts'

// Tests with a checkout of the version 1 reference (make e2e-reference).
export default {
  ...base,
  testDir: 'e2e/reference',
  testMatch: '*.reference.ts',
  outputDir: 'test-results/reference', // scripts/test.sh repeats what failed in the other tests
}
