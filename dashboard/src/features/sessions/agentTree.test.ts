import { describe, expect, it } from 'vitest'
import type { AgentNode } from '../../lib/api/schema'
import { amount, agentTree, chooseMeasure } from './agentTree'

const node = (agent_id: string, parent: string, more: Partial<AgentNode> = {}): AgentNode => ({
  agent_id,
  parent,
  firstId: 1,
  lastId: 2,
  startedAt: 1000,
  lastAt: 4000,
  ended: false,
  events: 1,
  tools: 0,
  failures: 0,
  asked: 0,
  pending: 0,
  waitedMs: 0,
  ...more,
})
const drawn = (nodes: AgentNode[]) => agentTree(nodes).map((m) => '-'.repeat(m.depth) + m.name)

describe('agentTree', () => {
  it('puts agents below their parents, in start order', () => {
    const nodes = [
      node('', ''),
      node('a1', '', { agent_type: 'Explore' }),
      node('b1', '', { agent_type: 'Plan' }),
      node('a2', 'a1', { agent_type: 'Explore' }),
      node('c1c2c3c4c5', 'a2'),
    ]
    expect(drawn(nodes)).toEqual(['main', '-Explore', '--Explore 2', '---c1c2c3c4', '-Plan'])
    const rows = agentTree(nodes)
    expect(rows.map((m) => m.guides)).toEqual([[], [true], [true, false], [true, false, false], [false]])
    expect(rows[2]?.startedBy).toBe('Explore')
    expect(rows[4]?.startedBy).toBe('main')
  })

  it('contains each agent once, even with cyclic or unknown parents', () => {
    const cycle = [node('', ''), node('a', 'b'), node('b', 'a'), node('c', 'gone'), node('d', 'd')]
    expect(drawn(cycle).sort()).toEqual(['--b', '-a', '-c', '-d', 'main'])
    expect(drawn([node('a', ''), node('b', 'a')])).toEqual(['-a', '--b'])
    const chain = Array.from({ length: 500 }, (_, i) => node(`n${i}`, i === 0 ? '' : `n${i - 1}`))
    expect(agentTree([node('', ''), ...chain]).at(-1)?.depth).toBe(500)
  })

  it('compares by cost, else tokens, else time', () => {
    const plain = node('', '')
    const counted = node('', '', { tokens: { input: 1, output: 2, cacheRead: 3 } })
    const paid = node('', '', { costUsd: 0.5 })
    expect([chooseMeasure([plain]), chooseMeasure([plain, counted]), chooseMeasure([counted, paid])]).toEqual(
      ['time', 'tokens', 'cost'],
    )
    expect([
      amount(plain, 'time'),
      amount(counted, 'tokens'),
      amount(counted, 'cost'),
      amount(paid, 'cost'),
    ]).toEqual([3000, 6, 0, 0.5])
  })
})
