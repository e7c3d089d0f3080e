import { faults, overflow, smallTargets } from './barriers.ts'
import { expect, openAt, test } from './page.ts'
import type { RunningHub } from './hub.ts'
import type { Agent } from './agent.ts'

async function fill(hub: RunningHub, agent: Agent) {
  await hub.event('UserPromptSubmit', { prompt: 'Deploy it' })
  await hub.event('PostToolUseFailure', { tool_name: 'Bash', error: 'exit 1' }, { error: 'exit 1' })
  const permission = await agent.ask(hub, {
    risk: 'high',
    question: 'Run a shell command',
    toolCall: {
      name: 'Bash',
      editable: true,
      arguments: { command: 'rm -rf ./x\u202e', timeout: 5, deep: { a: 1 } },
    },
    context: {
      why: 'It deletes.',
      cwd: '~/src',
      branch: 'main',
      userPrompt: 'Deploy it',
      links: ['https://example.com'],
    },
    suggestions: [
      { type: 'addRules', behavior: 'allow', rules: [{ toolName: 'Bash', ruleContent: 'rm:*' }] },
    ],
  })
  const edit = await agent.ask(hub, {
    question: 'Edit a.go',
    toolCall: { name: 'Edit', arguments: { file_path: 'a.go', old_string: 'a\nb', new_string: 'a\nc' } },
  })
  const text = await agent.ask(hub, {
    type: 'question',
    question: 'What name?\n\n- **bold**\n- `code`\n\n```sh\nls\n```',
  })
  const choice = await agent.ask(hub, { type: 'choice', question: 'Which?', choices: ['One', 'Two'] })
  const several = await agent.ask(hub, {
    type: 'question',
    question: 'Several',
    questions: [
      {
        id: 'a',
        question: 'Tone?',
        options: [{ label: 'Friendly', description: 'short' }, { label: 'Formal' }],
      },
      { id: 'b', question: 'Name?' },
    ],
  })
  const done = await agent.ask(hub, { question: 'Settled' })
  await hub.post(`/events/${done.id}/respond`, { permission: false, reason: 'Use the copy' })
  const lost = await agent.ask(hub, { question: 'Lost', responseWebSocketUrl: 'ws://10.1.2.3:9/x' })
  await hub.post(`/events/${lost.id}/respond`, { permission: true })
  return [permission, edit, text, choice, several, done, lost].map((a) => a.id)
}

for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of [1360, 900, 390]) {
    test(`no barrier on any screen, ${colorScheme}, ${width} px`, async ({ page, hub, agent }) => {
      test.setTimeout(90_000)
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width, height: 844 })
      await openAt(page, hub)
      expect.soft(await faults(page), 'empty inbox').toEqual([])
      const ids = await fill(hub, agent)
      for (const path of [
        '/',
        ...ids.map((id) => `/inbox/${id}`),
        '/stream',
        `/stream?event=${ids[0]}&q=agent:api`,
      ]) {
        await openAt(page, hub, path)
        await expect(
          page
            .locator(path.startsWith('/stream') ? '[data-testid=rows], [data-testid=drawer]' : 'h1')
            .first(),
        ).toBeAttached()
        expect.soft(await faults(page), path).toEqual([])
        expect.soft(await overflow(page), `${path} scrolls sideways`).toBeLessThanOrEqual(0)
      }
      await openAt(page, hub, `/inbox/${ids[0]}`)
      await page.getByRole('button', { name: /Edit/ }).click()
      expect.soft(await faults(page), 'editing').toEqual([])
      await page.getByRole('button', { name: /Deny/ }).click()
      expect.soft(await faults(page), 'denying').toEqual([])
      for (const name of ['Keyboard shortcuts', 'Find']) {
        if (width < 760) await page.getByRole('button', { name: 'More' }).click()
        await page.getByRole('button', { name, exact: true }).filter({ visible: true }).click()
        await expect(page.getByRole('dialog')).toBeVisible()
        expect.soft(await faults(page), name).toEqual([])
        await page.keyboard.press('Escape')
      }
    })
  }
}

test('everything fits 320 px without scrolling sideways', async ({ page, hub, agent }) => {
  await page.setViewportSize({ width: 320, height: 640 })
  const ids = await fill(hub, agent)
  for (const path of ['/', ...ids.map((id) => `/inbox/${id}`), '/stream', `/stream?event=${ids[0]}`]) {
    await openAt(page, hub, path)
    expect.soft(await overflow(page), path).toBeLessThanOrEqual(0)
  }
})

test('targets are at least 24 px', async ({ page, hub, agent }) => {
  const ids = await fill(hub, agent)
  for (const path of [`/inbox/${ids[0]}`, `/inbox/${ids[6]}`, '/stream']) {
    await openAt(page, hub, path)
    const small = await smallTargets(page)
    expect.soft(small, path).toEqual([])
  }
})
