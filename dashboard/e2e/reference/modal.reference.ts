import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { expect, test } from '../fixtures.ts'

const seeds = process.env.HOOKBACK_SEEDS ?? ''

/** The packages of the recipes: React and zustand, which the listings use. */
const packages = fileURLToPath(new URL('../../../agentclient/recipes/node_modules/', import.meta.url))

/** The listing of seed 000 that has the mark. */
async function listing(mark: string): Promise<string> {
  const name = (await readdir(seeds)).find((file) => file.startsWith('000_')) ?? ''
  const text = await readFile(join(seeds, name), 'utf8')
  const found = [...text.matchAll(/^```[a-z]*\n(.*?)^```/gms)].map((m) => m[1] ?? '')
  const code = found.find((each) => each.includes(mark))
  if (!code) throw new Error(`seed 000 has no listing with ${mark}`)
  return code
}

const ui = [
  'Dialog',
  'DialogContent',
  'DialogHeader',
  'DialogTitle',
  'DialogDescription',
  'DialogFooter',
  'Button',
]

/**
 * The modal and its store as they are in the seed, for the page. Added are their imports, which the listings
 * leave out, simple elements in place of the app's components, and the source of the events.
 */
async function buildModal(dir: string): Promise<string> {
  const files: Record<string, string> = {
    'store.ts': `import { create } from 'zustand'\n${await listing('useApprovalStore = create')}`,
    'modal.tsx': `import { useApprovalStore } from './store'
      import { ${ui.join(', ')} } from './ui'\n${await listing('function HITLModal')}`,
    'ui.tsx': `const part = (Tag, role) => ({ children, onClick }) => <Tag role={role} onClick={onClick}>{children}</Tag>
      export const Dialog = part('div', 'dialog'), Button = part('button')
      export const DialogTitle = part('h2'), DialogDescription = part('p')
      export const DialogContent = part('div'), DialogHeader = part('div'), DialogFooter = part('div')`,
    'main.tsx': `import { createRoot } from 'react-dom/client'
      import { HITLModal } from './modal'
      import { useApprovalStore } from './store'
      createRoot(document.body.appendChild(document.createElement('div'))).render(<HITLModal />)
      const source = new EventSource('/api/approvals/stream'), store = useApprovalStore.getState()
      source.addEventListener('approval-required', (e) => store.setPendingApproval(JSON.parse(e.data)))
      source.addEventListener('approval-resolved', () => store.clearPendingApproval())`,
  }
  for (const [name, code] of Object.entries(files)) await writeFile(join(dir, name), code)
  await build({
    configFile: false,
    root: dir,
    logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"production"' },
    resolve: {
      alias: ['react', 'react-dom', 'zustand'].map((name) => ({
        find: new RegExp(`^${name}(?=/|$)`),
        replacement: packages + name,
      })),
    },
    oxc: { jsx: { runtime: 'automatic' } },
    build: { lib: { entry: 'main.tsx', formats: ['iife'], name: 'modal', fileName: () => 'modal.js' } },
  })
  return readFile(join(dir, 'dist/modal.js'), 'utf8')
}

test.describe('The modal of seed 000', () => {
  test.skip(!seeds, 'HOOKBACK_SEEDS names no folder')

  test('shows calls of the stream of approvals, and its buttons approve and deny them', async ({
    page,
    hub,
    agent,
  }, info) => {
    const dir = await mkdtemp(join(tmpdir(), 'hookback-modal-'))
    const script = await buildModal(dir).finally(() => rm(dir, { recursive: true }))
    // The page of another app at the hub's address: the listing posts to a path without a host.
    await page.route(hub.url + '/app', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: '<!doctype html><script src="/app.js" defer></script>',
      }),
    )
    await page.route(hub.url + '/app.js', (route) =>
      route.fulfill({ contentType: 'text/javascript', body: script }),
    )
    await page.goto(hub.url + '/app')
    const dialog = page.getByRole('dialog')
    const ask = (name: string, question: string) =>
      agent.ask(hub.fromOtherProcess(), { question, toolCall: { name, arguments: { slug: 'hello' } } })

    const publish = await ask('cms_publishPost', 'Publish post "hello" to make it publicly visible?')
    await expect(dialog).toContainText('Confirmation Required')
    await expect(dialog).toContainText('Publish post "hello" to make it publicly visible?')
    await expect(dialog).toContainText('"slug": "hello"')
    await page.screenshot({ path: info.outputPath('modal.png') })
    await dialog.getByRole('button', { name: 'Approve' }).click()
    expect(await publish.answer).toMatchObject({ permission: true })
    await expect(dialog).toHaveCount(0)

    const remove = await ask('cms_deletePost', 'Permanently delete post "hello"? This cannot be undone.')
    await expect(dialog).toContainText('Permanently delete post "hello"?')
    await dialog.getByRole('button', { name: 'Deny' }).click()
    expect(await remove.answer).toMatchObject({ permission: false, reason: 'User cancelled' })
    await expect(dialog).toHaveCount(0)

    const elsewhere = await ask('http_post', 'Send POST request to https://example.com?')
    await expect(dialog).toContainText('Send POST request')
    await hub.post('/api/agent/approve', { approvalId: elsewhere.id, approved: false })
    await expect(dialog).toHaveCount(0)
  })
})
