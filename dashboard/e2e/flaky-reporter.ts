import type { FullConfig, Reporter, Suite } from '@playwright/test/reporter'
import { appendFileSync } from 'node:fs'

/** Adds the tests that passed only when repeated to the file HOOKBACK_FLAKY, one per line. */
export default class FlakyReporter implements Reporter {
  private suite: Suite | undefined

  onBegin(_: FullConfig, suite: Suite): void {
    this.suite = suite
  }

  onEnd(): void {
    const file = process.env.HOOKBACK_FLAKY
    if (!file) return
    const flaky = (this.suite?.allTests() ?? []).filter((test) => test.outcome() === 'flaky')
    // titlePath: root, project, file, describe blocks, test
    appendFileSync(file, flaky.map((test) => test.titlePath().slice(2).join(' › ') + '\n').join(''))
  }

  printsToStdio(): boolean {
    return false
  }
}
