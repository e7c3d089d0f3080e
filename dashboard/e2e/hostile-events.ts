import { acceptedInputs } from '../src/testing/hostileInputs.ts'
import { expect, test } from './fixtures.ts'
import type { HubProcess } from './hub.ts'
import type { Page } from '@playwright/test'

/** Posts every hostile event that the hub accepts. Returns all ids, and the ids of questions. */
export async function postHostileEvents(hub: HubProcess): Promise<{ ids: number[]; asking: number[] }> {
  const ids: number[] = []
  const asking: number[] = []
  for (const { body } of acceptedInputs) {
    const response = await fetch(hub.url + '/events', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body,
    })
    const event = (await response.json()) as { id: number; humanInTheLoop?: unknown }
    ids.push(event.id)
    if (event.humanInTheLoop) asking.push(event.id)
  }
  expect(asking.length).toBeGreaterThan(10)
  return { ids, asking }
}

/** Expects the page to show agents' data only as text, and no wider than the window. */
export async function expectPlainText(page: Page, where: string): Promise<void> {
  const found = await page.evaluate(() => ({
    title: document.title,
    excess: document.documentElement.scrollWidth - window.innerWidth,
    foreign: document.querySelectorAll('iframe, img[src^=http], base, object, embed').length,
    scripts: [...document.querySelectorAll('a')].filter((a) => /^\s*javascript:/i.test(a.href)).length,
  }))
  expect.soft(found, where).toMatchObject({ foreign: 0, scripts: 0 })
  expect.soft(found.title, where).not.toContain('pwned')
  expect.soft(found.excess, `${where} scrolls sideways`).toBeLessThanOrEqual(0)
}

/**
 * Measures the page's longest task from now until the returned function is called. That
 * function checks that the page still draws and notes the measurement in the report.
 */
export async function watchForFreeze(page: Page): Promise<() => Promise<void>> {
  await page.evaluate(() => {
    const longest = { ms: 0 }
    Object.assign(window, { longest })
    new PerformanceObserver((list) => {
      for (const e of list.getEntries()) longest.ms = Math.max(longest.ms, e.duration)
    }).observe({ type: 'longtask' })
  })
  return async () => {
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(drawn)))
    const longest = await page.evaluate(() => (window as unknown as { longest: { ms: number } }).longest.ms)
    test.info().annotations.push({ type: 'measured', description: `longest task: ${Math.round(longest)} ms` })
  }
}
