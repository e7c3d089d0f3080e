import axe from 'axe-core'
import type { Page } from '@playwright/test'

const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa', 'best-practice']

type AxeWindow = { axe?: typeof axe }

/** Returns axe's violations of all rules, or of the named rule, one line each. */
async function runAxe(page: Page, rule?: string): Promise<string[]> {
  // A page load removes axe; client-side navigation keeps it.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source)
  return page.evaluate(
    async ([values, only]) => {
      const run = (window as unknown as Required<AxeWindow>).axe.run
      const { violations } = await run(document, {
        runOnly: only ? { type: 'rule', values: [only] } : { type: 'tag', values },
        resultTypes: ['violations'],
        preload: false, // of style sheets, which only experimental rules read
        iframes: false, // no page has any
      })
      return violations.flatMap((v) =>
        v.nodes.map((n) => `${v.id}: ${n.target.join(' ')} ${n.failureSummary ?? ''}`),
      )
    },
    [rules, rule] as const,
  )
}

/**
 * Returns axe's violations in the light and dark themes. The dark theme changes only colors,
 * so only their contrast is checked again.
 */
export async function accessibilityViolations(page: Page): Promise<string[]> {
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  const light = await runAxe(page)
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' })
  const dark = await runAxe(page, 'color-contrast')
  return [...light, ...dark.map((violation) => `dark: ${violation}`)]
}

/** Returns the pixels by which the page is wider than the window. */
export const horizontalOverflow = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)

/** Returns the click targets below 24 px, except links within a sentence or in the text of a document. */
export const smallTargets = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('a, button, summary, input, select, textarea')]
      .map((e) => ({ e, box: (e.closest('label') ?? e).getBoundingClientRect() }))
      .filter(
        ({ e, box }) => box.width > 1 && !e.matches('p a, .own a') && (box.height < 24 || box.width < 24),
      )
      .map(({ e, box }) => `${e.outerHTML.slice(0, 120)} ${Math.round(box.width)}×${Math.round(box.height)}`),
  )
