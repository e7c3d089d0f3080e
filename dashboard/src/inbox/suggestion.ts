import type { Json } from '../types'

/** An "always allow" offer of an agent, in words. */
export interface Offer {
  /** What it does, such as "Always allow". */
  verb: string
  /** What it covers, exactly, such as Bash(npm test:*). */
  patterns: string[]
  /** Where and how long it holds; empty when the agent doesn't say. */
  scope: string
}

const scopes: Record<string, string> = {
  session: 'until this session ends',
  localSettings: 'in this project, for you',
  projectSettings: 'in this project, for everyone',
  userSettings: 'in all your projects',
}

const modes: Record<string, string> = {
  acceptEdits: 'Accept all edits of files',
  bypassPermissions: 'Never ask again for anything',
  plan: 'Only plan, change nothing',
  default: 'Ask as usual',
}

const named = (names: Record<string, string>, name: string) =>
  Object.hasOwn(names, name) ? names[name] : undefined

/**
 * Puts an offer into words. Agents have formats of their own; one this page does
 * not know is shown as it is.
 */
export function offerOf(offer: unknown): Offer {
  const suggestion = offer as Json
  const raw = { verb: 'Remember', patterns: [JSON.stringify(suggestion)], scope: '' }
  if (typeof suggestion === 'string') return { verb: 'Always allow', patterns: [suggestion], scope: '' }
  if (suggestion === null || typeof suggestion !== 'object' || Array.isArray(suggestion)) return raw
  const { type, behavior, destination, rules, directories, mode, tool, pattern } = suggestion
  const scope = typeof destination === 'string' ? (named(scopes, destination) ?? destination) : ''
  if (Array.isArray(rules) && rules.length > 0) {
    const verb = behavior === 'deny' ? 'Always deny' : behavior === 'ask' ? 'Always ask for' : 'Always allow'
    return { verb, patterns: rules.map(ruleText), scope }
  }
  if (Array.isArray(directories))
    return { verb: 'Allow these folders', patterns: directories.map(String), scope }
  if (type === 'setMode' && typeof mode === 'string')
    return { verb: named(modes, mode) ?? 'Switch to mode', patterns: named(modes, mode) ? [] : [mode], scope }
  if (typeof pattern === 'string') {
    return {
      verb: 'Always allow',
      patterns: [typeof tool === 'string' ? `${tool}(${pattern})` : pattern],
      scope,
    }
  }
  return raw
}

function ruleText(rule: Json): string {
  if (rule === null || typeof rule !== 'object' || Array.isArray(rule)) return String(rule)
  const { toolName, ruleContent } = rule
  if (typeof toolName !== 'string') return JSON.stringify(rule)
  return ruleContent === undefined || ruleContent === null
    ? `${toolName} (every call)`
    : `${toolName}(${String(ruleContent)})`
}
