import type { Json } from '../types'

/** An "always allow" offer of an agent, in words. */
export interface SuggestionText {
  /** What it does, such as "Always allow". */
  verb: string
  /** What it covers, exactly, such as Bash(npm test:*). */
  patterns: string[]
  /** Where and how long it holds; empty when the agent doesn't say. */
  scope: string
  /** It covers everything: nobody should take it in passing. */
  wide?: boolean
}

const scopes: Record<string, string> = {
  session: 'until this session ends',
  cliArg: 'until this session ends',
  localSettings: 'in this project, for you only (.claude/settings.local.json)',
  projectSettings: 'in this project, for everyone who works on it (.claude/settings.json)',
  userSettings: 'in all your projects (~/.claude/settings.json)',
}

const modes: Record<string, string> = {
  acceptEdits: 'Accept all edits of files',
  bypassPermissions: 'Never ask again for anything',
  dontAsk: 'Never ask: refuse what is not allowed already',
  auto: 'Let the agent’s own check decide, and ask no more',
  plan: 'Only plan, change nothing',
  default: 'Ask as usual',
}

/** How an offer begins, by what it does to rules of that behaviour. */
const verbs: Record<string, Record<string, string>> = {
  addRules: { allow: 'Always allow', deny: 'Always deny', ask: 'Always ask for' },
  replaceRules: {
    allow: 'Allow nothing but this by rule:',
    deny: 'Deny nothing but this by rule:',
    ask: 'Ask for nothing but this by rule:',
  },
  removeRules: {
    allow: 'No longer always allow',
    deny: 'No longer always deny',
    ask: 'No longer always ask for',
  },
}

const named = <T>(names: Record<string, T>, name: string): T | undefined =>
  Object.hasOwn(names, name) ? names[name] : undefined

/**
 * Puts an offer into words. Agents have formats of their own; one this page does
 * not know is shown as it is.
 */
export function describeSuggestion(offer: unknown): SuggestionText {
  const suggestion = offer as Json
  const raw = { verb: 'Remember', patterns: [JSON.stringify(suggestion)], scope: '' }
  if (typeof suggestion === 'string') return { verb: 'Always allow', patterns: [suggestion], scope: '' }
  if (suggestion === null || typeof suggestion !== 'object' || Array.isArray(suggestion)) return raw
  const { type, behavior, destination, rules, directories, mode, tool, pattern } = suggestion
  const scope = typeof destination === 'string' ? (named(scopes, destination) ?? destination) : ''
  if (Array.isArray(rules) && rules.length > 0) {
    const does = named(verbs, typeof type === 'string' ? type : 'addRules')
    const verb = does && named(does, typeof behavior === 'string' ? behavior : 'allow')
    return verb ? { verb, patterns: rules.map(ruleText), scope } : raw
  }
  if (Array.isArray(directories) && directories.length > 0) {
    const verb =
      type === 'removeDirectories' ? 'No longer work in' : 'Work in these folders without asking, too:'
    return { verb, patterns: directories.map(String), scope }
  }
  if (type === 'setMode' && typeof mode === 'string')
    return {
      verb: named(modes, mode) ?? 'Switch to mode',
      patterns: named(modes, mode) ? [] : [mode],
      scope,
      wide: mode === 'bypassPermissions',
    }
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
