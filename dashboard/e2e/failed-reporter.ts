import type { FullConfig, Reporter, Suite } from '@playwright/test/reporter'
import { appendFileSync } from 'node:fs'

/** Adds the tests that failed to the file HOOKBACK_FAILED, one per line with the start of the error. */
export default class FailedReporter implements Reporter {
  private suite: Suite | undefined
  /** Read at once: the setup of the tests removes such variables. */
  private readonly file = process.env.HOOKBACK_FAILED

  onBegin(_: FullConfig, suite: Suite): void {
    this.suite = suite
  }

  onEnd(): void {
    if (!this.file) return
    const failed = (this.suite?.allTests() ?? []).filter((test) => test.outcome() === 'unexpected')
    const lines = failed.map((test) => {
      // eslint-disable-next-line no-control-regex -- Playwright colors its errors
      const error = (test.results.at(-1)?.error?.message ?? '').replace(/\x1b\[[0-9;]*m/g, '')
      // titlePath: root, project, file, describe blocks, test
      return `${test.titlePath().slice(2).join(' › ')}\t${error.replace(/\s+/g, ' ').slice(0, 200)}\n`
    })
    appendFileSync(this.file, lines.join(''))
  }

  printsToStdio(): boolean {
    return false
  }
}
