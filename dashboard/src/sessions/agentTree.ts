import type { AgentNode } from '../schema'

/** An agent of a session where it stands below the one that started it. */
export interface TreeRow {
  node: AgentNode
  name: string
  /** 0 for the main agent. */
  depth: number
  /** For each level above it and its own: whether more follow below there. */
  guides: boolean[]
  /** The name of who started it; undefined for the main agent. */
  startedBy: string | undefined
}

/** What an agent is called: its type, with a number where there are several of it. */
function namesOf(nodes: readonly AgentNode[]): Map<string, string> {
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
 * The agents as a tree, from top to bottom. Whoever started them may not be among
 * them, or, told by a liar, be below them: they all stand somewhere, once.
 */
export function agentTree(nodes: readonly AgentNode[]): TreeRow[] {
  const names = namesOf(nodes)
  const known = new Set(nodes.map((n) => n.agent_id))
  const below = new Map<string, AgentNode[]>()
  for (const n of nodes) {
    if (n.agent_id === '') continue
    const parent = known.has(n.parent) && n.parent !== n.agent_id ? n.parent : ''
    const list = below.get(parent)
    if (list) list.push(n)
    else below.set(parent, [n])
  }
  const members: TreeRow[] = []
  const told = new Set<AgentNode>()
  const walk = (node: AgentNode, depth: number, rails: boolean[]) => {
    if (told.has(node)) return
    told.add(node)
    const starter = depth === 0 ? undefined : (names.get(node.parent) ?? 'main')
    members.push({ node, name: names.get(node.agent_id) ?? '', depth, guides: rails, startedBy: starter })
    const children = below.get(node.agent_id) ?? []
    children.forEach((c, i) => walk(c, depth + 1, [...rails, i < children.length - 1]))
  }
  const main = nodes.find((n) => n.agent_id === '')
  if (main) walk(main, 0, [])
  else for (const n of below.get('') ?? []) walk(n, 1, [false])
  for (const n of nodes) walk(n, 1, [false]) // those in a circle
  return members
}

/** Everything that an agent read and wrote. */
export const totalTokens = (t: AgentNode['tokens']): number =>
  t ? t.input + t.output + (t.cacheRead ?? 0) + (t.cacheWrite ?? 0) : 0

export type Measure = 'cost' | 'tokens' | 'time'

/** What agents are compared by: money where it is told, else tokens, else time. */
export function chooseMeasure(nodes: readonly AgentNode[]): Measure {
  if (nodes.some((n) => (n.costUsd ?? 0) > 0)) return 'cost'
  return nodes.some((n) => totalTokens(n.tokens) > 0) ? 'tokens' : 'time'
}

/** An agent by that measure. */
export function amount(n: AgentNode, by: Measure): number {
  if (by === 'cost') return n.costUsd ?? 0
  return by === 'tokens' ? totalTokens(n.tokens) : Math.max(0, n.lastAt - n.startedAt)
}
