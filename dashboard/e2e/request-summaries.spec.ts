import { detail, expect, row, test, waitUntilLive } from './fixtures.ts'

/** The most that a page may load before its first card, in bytes, with 20 pending requests. */
const BUDGET = 110_000

test.describe('Request summaries', () => {
  test('keep the first card of 20 large requests small, and it needs no list of events', async ({
    page,
    hub,
  }) => {
    const ids: number[] = []
    for (let i = 0; i < 20; i++) {
      const command = `echo ${i} start; ${'true && '.repeat(1500)}echo ${i} end`
      ids.push(
        await hub.event(
          'PermissionRequest',
          { tool_input: { command }, cwd: '/src' },
          {
            session_id: `s${i}`,
            tool_name: 'Bash',
            humanInTheLoop: {
              question: `Run command ${i}?`,
              type: 'permission',
              toolCall: { name: 'Bash', arguments: { command } },
              context: { userPrompt: 'Build it. '.repeat(200), why: 'because '.repeat(200) },
            },
          },
        ),
      )
    }
    const [first = 0, second = 0] = ids

    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    await page.route('**/events/recent?*', async (route) => {
      await held
      await route.continue()
    })
    const sizes: [string, Promise<number>][] = []
    page.on('response', (response) => {
      const { pathname, search } = new URL(response.url())
      if (/^\/(events|api)/.test(pathname))
        sizes.push([
          pathname + search,
          response.body().then(
            (body) => body.length,
            () => 0,
          ),
        ])
    })
    await page.goto(hub.url)
    const card = detail(page, first)
    await expect(card.locator('.call-preview')).toContainText('0 start')
    await expect(row(page, ids[5] ?? 0)).toContainText('echo 5 start')
    const loaded = await Promise.all(
      sizes
        .filter(([path]) => !path.startsWith('/events/recent'))
        .map(async ([path, size]) => [path, await size] as const),
    )
    const total = loaded.reduce((sum, [, size]) => sum + size, 0)
    expect(total, JSON.stringify(loaded)).toBeGreaterThan(20_000)
    expect(total, JSON.stringify(loaded)).toBeLessThanOrEqual(BUDGET)

    // The next request is loaded in advance, so it shows its call and accepts an answer immediately.
    await expect.poll(() => sizes.some(([path]) => path === `/events/${second}`)).toBe(true)
    expect(sizes.some(([path]) => path === `/events/${ids[2]}`)).toBe(false)
    await page.keyboard.press('j')
    await expect(detail(page, second)).toContainText('1 start')
    release()
    await waitUntilLive(page)
    await expect(detail(page, second).getByRole('button', { name: /^Deny/ })).toBeEnabled()
  })
})
