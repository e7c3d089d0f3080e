import type { FullConfig, Reporter, Suite } from '@playwright/test/reporter'
import { appendFileSync } from 'node:fs'

/** Adds the tests that passed only when repeated to the file HOOKBACK_FLAKY, one per line. */
export default class FlakyReporter implements Reporter {
  private suite: Suite | undefined
  /** Read at once: the setup of the tests removes such variables. */
  private readonly file = process.env.HOOKBACK_FLAKY

  onBegin(_: FullConfig, suite: Suite): void {
    this.suite = suite
  }

  onEnd(): void {
    if (!this.file) return
    const flaky = (this.suite?.allTests() ?? []).filter((test) => test.outcome() === 'flaky')
    // titlePath: root, project, file, describe blocks, test
    appendFileSync(this.file, flaky.map((test) => test.titlePath().slice(2).join(' › ') + '\n').join(''))
  }

  printsToStdio(): boolean {
    return false
  }
}
