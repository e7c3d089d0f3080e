import { acceptedInputs } from '../src/testing/hostileInputs.ts'
import { expect } from './page.ts'
import type { RunningHub } from './hub.ts'
import type { Page } from '@playwright/test'

/** Posts every hostile event that the hub takes; says which of them ask. */
export async function postHostile(hub: RunningHub): Promise<{ ids: number[]; asking: number[] }> {
  const ids: number[] = []
  const asking: number[] = []
  for (const { body } of acceptedInputs) {
    const answer = await fetch(hub.url + '/events', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body,
    })
    const event = (await answer.json()) as { id: number; humanInTheLoop?: unknown }
    ids.push(event.id)
    if (event.humanInTheLoop) asking.push(event.id)
  }
  expect(asking.length).toBeGreaterThan(10)
  return { ids, asking }
}

/** Nothing that an agent sent is more than text, and none of it is wider than the page. */
export async function expectText(page: Page, where: string): Promise<void> {
  const seen = await page.evaluate(() => ({
    title: document.title,
    wide: document.documentElement.scrollWidth - window.innerWidth,
    foreign: document.querySelectorAll('iframe, img[src^=http], base, object, embed').length,
    scripts: [...document.querySelectorAll('a')].filter((a) => /^\s*javascript:/i.test(a.href)).length,
  }))
  expect.soft(seen, where).toMatchObject({ foreign: 0, scripts: 0 })
  expect.soft(seen.title, where).not.toContain('pwned')
  expect.soft(seen.wide, `${where} scrolls sideways`).toBeLessThanOrEqual(0)
}

/**
 * Measures the longest that the page keeps this machine from doing anything else, from
 * now until the returned function is called. Its bound counts with the machine's speed.
 */
export async function noFreeze(page: Page): Promise<() => Promise<void>> {
  const unit = await page.evaluate(() => {
    const began = performance.now()
    let x = 0
    for (let i = 0; i < 2e7; i++) x += Math.sqrt(i)
    const longest = { ms: 0, x }
    Object.assign(window, { longest })
    new PerformanceObserver((list) => {
      for (const e of list.getEntries()) longest.ms = Math.max(longest.ms, e.duration)
    }).observe({ type: 'longtask' })
    return performance.now() - began
  })
  return async () => {
    const longest = await page.evaluate(() => (window as unknown as { longest: { ms: number } }).longest.ms)
    expect(longest, `the longest task, while a loop of ${Math.round(unit)} ms is the measure`).toBeLessThan(
      Math.max(2500, unit * 60),
    )
  }
}
