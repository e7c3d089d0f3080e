import { describe, expect, it, vi } from 'vitest'
import { ApiError } from '../../lib/api/api'
import type { LedgerEntry } from '../../lib/api/schema'
import { loadLastSeen, saveLastSeen } from './hashChain'
import { LedgerWitness } from './ledgerWitness.svelte'

const chain = (n: number, name = 'h'): LedgerEntry[] =>
  Array.from({ length: n }, (_, i) => ({
    n: i + 1,
    at: 0,
    act: 'rule.made',
    who: 'ann',
    prev: `${name}${i}`,
    hash: `${name}${i + 1}`,
  }))

/** A hub whose log the test replaces. */
class Hub {
  id = 'a'
  log: LedgerEntry[] = []
  refused: ApiError | undefined
  reads = 0

  /** A page that opens the hub. */
  open(): LedgerWitness {
    return new LedgerWitness({ ledger: (page) => this.ledger(page), hubKey: () => this.hubKey() }, () => 5)
  }

  private ledger({ after, limit }: { after?: number; limit: number }): Promise<LedgerEntry[]> {
    this.reads++
    if (this.refused) return Promise.reject(this.refused)
    const page = after === undefined ? this.log.slice(-limit) : this.log.filter((e) => e.n > after)
    return Promise.resolve(page.slice(0, limit))
  }

  private hubKey() {
    return Promise.resolve({ hubId: this.id, keyId: '', publicKey: '' })
  }
}

function hubWith(log: LedgerEntry[]): Hub {
  const hub = new Hub()
  hub.log = log
  return hub
}

const refusal = new ApiError({ type: '', title: '', status: 401, code: 'sign_in', error: '' })

describe('LedgerWitness', () => {
  it('stores the newest entry of each hub', async () => {
    const hub = hubWith(chain(3))
    const page = hub.open()
    await page.check('a')
    expect(page.previous).toBeUndefined()
    expect(loadLastSeen('a')).toEqual({ hub: 'a', n: 3, hash: 'h3', at: 5 })
    hub.log = chain(8)
    await page.check('a')
    expect(loadLastSeen('a')?.n).toBe(8)
    hub.id = 'b'
    hub.log = chain(2, 'other')
    await page.check('b')
    expect(page.rewrite).toBeUndefined()
    expect([loadLastSeen('a')?.n, loadLastSeen('b')?.n]).toEqual([8, 2])
    const next = hub.open()
    await next.check('b')
    expect(next.previous?.n).toBe(2)
  })

  it.each([
    ['whose end was cut off', chain(4), /ends with entry 4/],
    ['that is empty', [], /is empty/],
    ['with another entry of that number', chain(5, 'x'), /hash of entry 5 is different/],
    ['with a longer chain of other entries', chain(9, 'x'), /hash of entry 5 is different/],
    ['without that entry', chain(9).filter((e) => e.n !== 5), /Entry 5 is missing/],
  ])('reports a log %s, until the right one is back', async (_, log, detail) => {
    const hub = hubWith(chain(5))
    await hub.open().check('a')
    hub.log = log
    for (const page of [hub.open(), hub.open()]) {
      await page.check('a')
      expect(page.rewrite?.seen).toMatchObject({ n: 5, hash: 'h5' })
      expect(page.rewrite?.detail).toMatch(detail)
    }
    const page = hub.open()
    await page.check('a')
    hub.log = chain(6)
    await page.check('a')
    expect(page.rewrite).toBeUndefined()
    expect(loadLastSeen('a')?.n).toBe(6)
  })

  it('replaces the entry by the current one', async () => {
    const hub = hubWith(chain(5))
    await hub.open().check('a')
    saveLastSeen({ hub: 'b', n: 1, hash: 'x', at: 1 })
    hub.log = chain(2, 'backup')
    const page = hub.open()
    await page.check('a')
    await page.forget()
    expect(page.rewrite).toBeUndefined()
    expect(loadLastSeen('a')).toMatchObject({ n: 2, hash: 'backup2' })
    expect(loadLastSeen('b')?.n).toBe(1)
    const next = hub.open()
    await next.check('a')
    expect(next.rewrite).toBeUndefined()
  })

  it('keeps the entry while the log can’t be read', async () => {
    const hub = hubWith(chain(5))
    const page = hub.open()
    await page.check('a')
    hub.refused = refusal
    await expect(page.check('a')).rejects.toBe(refusal)
    expect(page.rewrite).toBeUndefined()
    expect(loadLastSeen('a')?.n).toBe(5)
    hub.refused = undefined
    hub.log = chain(1)
    await page.check('a')
    expect(page.rewrite).toBeDefined()
  })

  it('does not compare with another hub at the same address', async () => {
    const hub = hubWith(chain(5))
    const page = hub.open()
    await page.check('a')
    hub.id = 'b'
    hub.log = chain(2, 'other')
    await page.check('a')
    expect(page.rewrite).toBeUndefined()
    expect(loadLastSeen('a')?.n).toBe(5)
  })

  it('compares within one page if the browser stores nothing', async () => {
    const denied = () => {
      throw new Error('denied')
    }
    vi.spyOn(Storage.prototype, 'getItem').mockImplementation(denied)
    vi.spyOn(Storage.prototype, 'setItem').mockImplementation(denied)
    try {
      const hub = hubWith(chain(5))
      const page = hub.open()
      await page.check('a')
      hub.log = chain(5, 'x')
      await page.check('a')
      expect(page.rewrite?.seen.n).toBe(5)
      await page.forget()
      expect(page.rewrite).toBeUndefined()
    } finally {
      vi.restoreAllMocks()
    }
  })

  it('shares a check that is under way', async () => {
    const hub = hubWith(chain(5))
    const page = hub.open()
    await Promise.all([page.check('a'), page.check('a')])
    expect(hub.reads).toBe(1)
  })

  it('never lowers the stored entry', () => {
    saveLastSeen({ hub: 'a', n: 9, hash: 'h9', at: 1 })
    saveLastSeen({ hub: 'a', n: 4, hash: 'h4', at: 2 })
    expect(loadLastSeen('a')).toMatchObject({ n: 9, hash: 'h9' })
  })
})
