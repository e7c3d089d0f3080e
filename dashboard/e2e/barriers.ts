import axe from 'axe-core'
import type { Page } from '@playwright/test'

const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa', 'best-practice']

/** What axe finds, as short lines. */
export async function faults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  return page.evaluate(async (values) => {
    const run = (window as unknown as { axe: typeof axe }).axe.run
    const { violations } = await run(document, { runOnly: { type: 'tag', values } })
    return violations.flatMap((v) =>
      v.nodes.map((n) => `${v.id}: ${n.target.join(' ')} ${n.failureSummary ?? ''}`),
    )
  }, rules)
}

/** By how much the page is wider than the window. */
export const overflow = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)

/** What a finger could miss: targets below 24 px, but for links within a sentence. */
export const smallTargets = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('a, button, summary, input, select, textarea')]
      .map((e) => ({ e, box: (e.closest('label') ?? e).getBoundingClientRect() }))
      .filter(
        ({ e, box }) => box.width > 1 && !e.matches('.skip, p a') && (box.height < 24 || box.width < 24),
      )
      .map(({ e, box }) => `${e.outerHTML.slice(0, 120)} ${Math.round(box.width)}×${Math.round(box.height)}`),
  )
