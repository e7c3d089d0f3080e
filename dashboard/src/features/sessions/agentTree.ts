import type { AgentNode } from '../../lib/api/schema'
import { totalTokens } from '../../lib/format/amounts'

/** A row of the agent tree. */
export interface TreeRow {
  node: AgentNode
  name: string
  /** 0 for the main agent. */
  depth: number
  /** For each level, whether a later sibling follows, to draw the lines of the tree. */
  guides: boolean[]
  /** The name of the agent that started it; undefined for the main agent. */
  startedBy: string | undefined
}

/** Names agents by type, with a number if several have the same type. */
function agentNames(nodes: readonly AgentNode[]): Map<string, string> {
  const names = new Map<string, string>()
  const seen = new Map<string, number>()
  for (const n of nodes) {
    const type = n.agent_type || n.agent_id.slice(0, 8)
    const nth = (seen.get(type) ?? 0) + 1
    if (n.agent_id !== '') seen.set(type, nth)
    names.set(n.agent_id, n.agent_id === '' ? 'main' : nth > 1 ? `${type} ${nth}` : type)
  }
  return names
}

/**
 * The agents as a tree, in display order. Each agent appears once, even if its parent is
 * unknown or the reported parents form a cycle.
 */
export function agentTree(nodes: readonly AgentNode[]): TreeRow[] {
  const names = agentNames(nodes)
  const known = new Set(nodes.map((n) => n.agent_id))
  const childrenOf = new Map<string, AgentNode[]>()
  for (const n of nodes) {
    if (n.agent_id === '') continue
    const parent = known.has(n.parent) && n.parent !== n.agent_id ? n.parent : ''
    const list = childrenOf.get(parent)
    if (list) list.push(n)
    else childrenOf.set(parent, [n])
  }
  const rows: TreeRow[] = []
  const added = new Set<AgentNode>()
  const addRow = (node: AgentNode, depth: number, rails: boolean[]) => {
    if (added.has(node)) return
    added.add(node)
    const starter = depth === 0 ? undefined : (names.get(node.parent) ?? 'main')
    rows.push({ node, name: names.get(node.agent_id) ?? '', depth, guides: rails, startedBy: starter })
    const children = childrenOf.get(node.agent_id) ?? []
    children.forEach((c, i) => addRow(c, depth + 1, [...rails, i < children.length - 1]))
  }
  const main = nodes.find((n) => n.agent_id === '')
  if (main) addRow(main, 0, [])
  else for (const n of childrenOf.get('') ?? []) addRow(n, 1, [false])
  for (const n of nodes) addRow(n, 1, [false]) // agents in a cycle
  return rows
}

export type Measure = 'cost' | 'tokens' | 'time'

/** The best measure to compare agents: cost if reported, else tokens, else time. */
export function chooseMeasure(nodes: readonly AgentNode[]): Measure {
  if (nodes.some((n) => (n.costUsd ?? 0) > 0)) return 'cost'
  return nodes.some((n) => totalTokens(n.tokens) > 0) ? 'tokens' : 'time'
}

/** The value of a measure. */
export function amount(n: AgentNode, by: Measure): number {
  if (by === 'cost') return n.costUsd ?? 0
  return by === 'tokens' ? totalTokens(n.tokens) : Math.max(0, n.lastAt - n.startedAt)
}
