import { cleanup, render, screen } from '@testing-library/svelte'
import { flushSync } from 'svelte'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { toRequest, type Request } from '../../lib/stream/requests'
import { hub } from '../../lib/stream/liveState.svelte'
import { aRequest, commandView } from '../../testing/factories'
import { BulkReview } from './bulkReview.svelte'
import ShapeLine from './ShapeLine.svelte'
import { shapesOf } from './shapes'

let shown: (elements: Element[]) => void
const observed = new Set<Element>()
/** Reports only what a test shows. */
class Observer {
  constructor(callback: IntersectionObserverCallback) {
    shown = (elements) => {
      const hits = elements.map((target) => ({ isIntersecting: true, target }) as IntersectionObserverEntry)
      callback(hits, this as unknown as IntersectionObserver)
      flushSync()
    }
  }
  observe = (target: Element) => observed.add(target)
  unobserve = (target: Element) => observed.delete(target)
}

const ask = (id: number, question: Partial<Parameters<typeof aRequest>[1]>, waiters = 1) =>
  aRequest(
    id,
    { toolCall: { name: 'Bash', arguments: { command: `go test ./pkg${id}` } }, ...question },
    { view: commandView, waiters },
  )

function show(events: ReturnType<typeof aRequest>[]) {
  const requests = events.map((e) => toRequest(e) as Request)
  vi.spyOn(hub, 'request').mockImplementation((id) => requests.find((r) => r.id === id))
  const review = new BulkReview(requests)
  const [shape] = shapesOf(review.seen)
  render(ShapeLine, { shape: shape!, review })
  flushSync()
  return review
}

describe('BulkReview', () => {
  beforeEach(() => vi.stubGlobal('IntersectionObserver', Observer))
  afterEach(() => {
    cleanup()
    observed.clear()
    vi.restoreAllMocks()
  })

  it('counts a call as seen once its whole row and all that the calls share were on screen', () => {
    const review = show([ask(1, {}), ask(2, {})])
    const unseen = () => review.unseen.map((r) => r.id)
    const of = (text: Element | null) => [...observed].filter((e) => text?.contains(e))
    const [head, one, two] = [
      document.querySelector('.head'),
      document.querySelector('[data-id="1"]'),
      document.querySelector('[data-id="2"]'),
    ]
    shown([...of(one), ...of(two).slice(0, 1)])
    expect(unseen()).toEqual([1, 2])
    shown(of(head).slice(0, 1))
    expect(unseen()).toEqual([1, 2])
    shown(of(head))
    expect(unseen()).toEqual([2])
    shown(of(two))
    expect(unseen()).toEqual([])
  })

  it('shows what all calls share, and what each has of its own', () => {
    const context = { cwd: '/srv/shop' }
    show([
      ask(1, { context, question: 'Test the first?' }),
      ask(2, { context, question: 'Test the second?' }, 3),
    ])
    const row = (id: number) => document.querySelector(`[data-id="${id}"]`)?.textContent
    expect(document.querySelector('.head')?.textContent).toContain('/srv/shop')
    expect(screen.getByText('Bash')).toBeTruthy()
    expect(row(1)).toContain('Test the first?')
    expect(row(1)).not.toContain('×')
    expect(row(2)).toContain('Test the second?')
    expect(row(2)).toContain('×3')
  })
})
