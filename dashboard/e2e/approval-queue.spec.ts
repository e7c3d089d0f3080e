import { expect, openAt, test } from './fixtures.ts'

interface ApprovalState {
  pendingApproval: {
    approvalId: string
    toolName: string
    input: unknown
    message: string
  } | null

  setPendingApproval: (approval: ApprovalState['pendingApproval']) => void
  clearPendingApproval: () => void
  submitApproval: (approvalId: string, approved: boolean, reason?: string) => Promise<void>
}

/** Starts the approval store of seed 000 in the page. create stands in for that of zustand; the store is unchanged. */
function startStore() {
  function create<T>() {
    return (creator: (set: (part: Partial<T>) => void) => T) => {
      let state: T
      state = creator((part) => (state = { ...state, ...part }))
      return { getState: () => state }
    }
  }
  const useApprovalStore = create<ApprovalState>()((set) => ({
    pendingApproval: null,

    setPendingApproval: (approval) => set({ pendingApproval: approval }),

    clearPendingApproval: () => set({ pendingApproval: null }),

    submitApproval: async (approvalId, approved, reason) => {
      await fetch('/api/agent/approve', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ approvalId, approved, reason }),
      })
      set({ pendingApproval: null })
    },
  }))
  const source = new EventSource('/api/approvals/stream')
  source.addEventListener('approval-required', ({ data }: MessageEvent<string>) =>
    useApprovalStore.getState().setPendingApproval(JSON.parse(data) as ApprovalState['pendingApproval']),
  )
  source.addEventListener('approval-resolved', () => useApprovalStore.getState().clearPendingApproval())
  ;(window as unknown as { store: typeof useApprovalStore }).store = useApprovalStore
}

const store = () => (window as unknown as { store: { getState(): ApprovalState } }).store.getState()

test.describe('The approval modal of seed 000', () => {
  test('shows calls from the stream of approvals, approves and denies them', async ({ page, hub, agent }) => {
    await openAt(page, hub)
    await page.evaluate(startStore)
    const shown = () => page.evaluate(`(${store.toString()})().pendingApproval`)
    const submit = (approved: boolean, reason?: string) =>
      page.evaluate(
        `(${store.toString()})().submitApproval((${store.toString()})().pendingApproval.approvalId, ${JSON.stringify(approved)}${
          reason ? ', ' + JSON.stringify(reason) : ''
        })`,
      )
    const ask = (name: string, message: string) =>
      agent.ask(hub.fromOtherProcess(), {
        question: message,
        toolCall: { name, arguments: { slug: 'hello' } },
      })

    const first = await ask('cms_publishPost', 'Publish post "hello" to make it publicly visible?')
    await expect.poll(shown).toEqual({
      approvalId: String(first.id),
      toolName: 'cms_publishPost',
      input: { slug: 'hello' },
      message: 'Publish post "hello" to make it publicly visible?',
    })
    await submit(true)
    expect(await first.answer).toMatchObject({ permission: true })

    const second = await ask('cms_deletePost', 'Permanently delete post "hello"? This cannot be undone.')
    await expect.poll(shown).toMatchObject({ approvalId: String(second.id) })
    await submit(false, 'User cancelled')
    expect(await second.answer).toMatchObject({ permission: false, reason: 'User cancelled' })
    await expect.poll(shown).toBeNull()
  })
})
