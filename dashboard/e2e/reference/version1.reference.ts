import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, type Locator, type Page } from '@playwright/test'
import { hookInputs } from './hookInputs.ts'
import { test, type ReferenceSetup } from './checkout.ts'

test.skip(!process.env.HOOKBACK_REFERENCE, 'HOOKBACK_REFERENCE names no checkout')

interface StoredEvent {
  id: number
  hook_event_type: string
  payload: unknown
  model_name?: string
  chat?: unknown
  summary?: string
  humanInTheLoopStatus?: { status: string }
}

async function openClient(page: Page, reference: ReferenceSetup): Promise<string[]> {
  const failures: string[] = []
  page.on('pageerror', (error) => failures.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') failures.push(message.text())
  })
  await page.goto(reference.pageURL)
  await expect(page.getByText('Connected', { exact: true })).toBeVisible()
  return failures
}

/** The client renders a narrow and a wide layout of each event, and hides one. */
const visibleText = (page: Page, text: string): Locator =>
  page.getByText(text).filter({ visible: true }).first()

/** The options of one of the client's three filters. */
const options = (page: Page, placeholder: string): Locator =>
  page.locator('select', { hasText: placeholder }).locator('option')

const recent = async (reference: ReferenceSetup): Promise<StoredEvent[]> =>
  (await (await fetch(reference.hub.url + '/events/recent')).json()) as StoredEvent[]

test.describe('ReferenceClient', () => {
  test('lists events of the initial message and live ones, and loads its filters', async ({
    page,
    reference,
  }, info) => {
    await reference.hub.event(
      'PreToolUse',
      { tool_name: 'Bash', tool_input: { command: 'go build ./...' } },
      { source_app: 'shop', session_id: 'session-before', model_name: 'claude-haiku-4-5-20251001' },
    )
    const failures = await openClient(page, reference)
    await expect(visibleText(page, 'go build ./...')).toBeVisible()
    await expect(visibleText(page, 'haiku-4-5')).toBeVisible()
    await page.getByTitle('Show filters').click()
    await expect(options(page, 'All Sources')).toContainText(['All Sources', 'shop'])
    await expect(options(page, 'All Sessions')).toContainText(['All Sessions', 'session-...'])
    await expect(options(page, 'All Types')).toContainText(['All Types', 'PreToolUse'])

    await reference.hub.event(
      'UserPromptSubmit',
      { prompt: 'Ship the release' },
      { source_app: 'billing', session_id: 'session-live', summary: 'Asks for a release' },
    )
    await expect(visibleText(page, '"Ship the release"')).toBeVisible()
    await expect(visibleText(page, 'Asks for a release')).toBeVisible()
    await page.screenshot({ path: info.outputPath('events.png') })
    expect(failures).toEqual([])
  })

  test('answers the three kinds of questions of hitl.py, and the script receives them', async ({
    page,
    reference,
  }, info) => {
    const failures = await openClient(page, reference)

    const permission = reference.ask('permission', 'May I deploy?')
    await expect(page.getByText('May I deploy?')).toBeVisible()
    await page.screenshot({ path: info.outputPath('question.png') })
    await page.getByRole('button', { name: /Approve/ }).click()
    expect(await permission).toMatchObject({ permission: true, hookEvent: { source_app: 'reference' } })

    const denied = reference.ask('permission', 'May I drop the table?')
    await expect(page.getByText('May I drop the table?')).toBeVisible()
    await page.getByRole('button', { name: /Deny/, disabled: false }).click()
    expect(await denied).toMatchObject({ permission: false })

    const text = reference.ask('question', 'Which branch?')
    await page.getByPlaceholder('Type your response here...').fill('main')
    await page.getByRole('button', { name: /Submit Response/ }).click()
    expect(await text).toMatchObject({ response: 'main' })

    const choice = reference.ask('choice', 'Which region?', ['Frankfurt', 'Dublin'])
    await page.getByRole('button', { name: 'Dublin' }).click()
    expect(await choice).toMatchObject({ choice: 'Dublin' })

    await page.screenshot({ path: info.outputPath('answers.png') })
    await expect
      .poll(async () => (await recent(reference)).map((e) => e.humanInTheLoopStatus?.status))
      .toEqual(['responded', 'responded', 'responded', 'responded'])
    expect(failures).toEqual([])
  })
})

test.describe('ReferenceScripts', () => {
  test('send every hook input, its transcript and its model', async ({ page, reference }) => {
    const transcript = join(reference.folder, 'transcript.jsonl')
    const lines = [
      { type: 'user', message: { role: 'user', content: 'Ship it' } },
      {
        type: 'assistant',
        message: { role: 'assistant', model: 'claude-haiku-4-5-20251001', content: 'Done' },
      },
    ]
    await writeFile(transcript, lines.map((line) => JSON.stringify(line)).join('\n') + '\nno JSON\n')
    for (const [type, input] of Object.entries(hookInputs)) {
      const flags = ['--source-app', 'reference', '--event-type', type, '--add-chat', '--summarize']
      const sent = {
        session_id: 'reference-scripts',
        hook_event_name: type,
        transcript_path: transcript,
        ...input,
      }
      expect(await reference.sendEvent(flags, sent), type).toBe('')
    }
    const events = await recent(reference)
    expect(events.map((e) => e.hook_event_type)).toEqual(Object.keys(hookInputs))
    for (const event of events) {
      expect(event.payload).toMatchObject(hookInputs[event.hook_event_type] ?? {})
      expect(event.model_name).toBe('claude-haiku-4-5-20251001')
      expect(event.summary).toBeUndefined()
      const whole = (await (await fetch(`${reference.hub.url}/events/${event.id}`)).json()) as StoredEvent
      expect(whole.chat).toEqual(lines)
    }
    const failures = await openClient(page, reference)
    await page.getByTitle('Show filters').click()
    await expect(options(page, 'All Types')).toHaveCount(Object.keys(hookInputs).length + 1)
    for (const type of Object.keys(hookInputs)) await expect(visibleText(page, type)).toBeVisible()
    expect(failures).toEqual([])
  })
})
