import { toJson } from '../../lib/api/exactJson'
import type { Json } from '../../lib/api/types'
import { lazyInboxText } from './lazyText'

/** An agent's "always allow" suggestion as text. */
export interface SuggestionText {
  /** The action, such as "Always allow". */
  verb: string
  /** The exact patterns it covers, such as Bash(npm test:*). */
  patterns: string[]
  /** Where and how long it applies; empty if the agent does not specify it. */
  scope: string
  /** It covers everything, so it is highlighted. */
  wide?: boolean
}

const copy = lazyInboxText.suggestion
const scopes: Record<string, string> = copy.scopes
const modes: Record<string, string> = copy.modes
/** The verb by the type of the update and the behavior of its rules. */
const verbs: Record<string, Record<string, string>> = copy.verbs

const named = <T>(names: Record<string, T>, name: string): T | undefined =>
  Object.hasOwn(names, name) ? names[name] : undefined

/**
 * Describes a suggestion. Formats differ between agents; an unknown format is shown as JSON.
 */
export function describeSuggestion(offer: unknown): SuggestionText {
  const suggestion = offer as Json
  const raw = { verb: copy.remember, patterns: [toJson(suggestion)], scope: '' }
  if (typeof suggestion === 'string') return { verb: copy.allow, patterns: [suggestion], scope: '' }
  if (suggestion === null || typeof suggestion !== 'object' || Array.isArray(suggestion)) return raw
  const { type, behavior, destination, rules, directories, mode, tool, pattern } = suggestion
  const scope = typeof destination === 'string' ? (named(scopes, destination) ?? destination) : ''
  if (Array.isArray(rules) && rules.length > 0) {
    const does = named(verbs, typeof type === 'string' ? type : 'addRules')
    const verb = does && named(does, typeof behavior === 'string' ? behavior : 'allow')
    return verb ? { verb, patterns: rules.map(ruleText), scope } : raw
  }
  if (Array.isArray(directories) && directories.length > 0) {
    const verb = type === 'removeDirectories' ? copy.removeDirectories : copy.addDirectories
    return { verb, patterns: directories.map(String), scope }
  }
  if (type === 'setMode' && typeof mode === 'string')
    return {
      verb: named(modes, mode) ?? copy.switchMode,
      patterns: named(modes, mode) ? [] : [mode],
      scope,
      wide: mode === 'bypassPermissions',
    }
  if (typeof pattern === 'string') {
    return {
      verb: copy.allow,
      patterns: [typeof tool === 'string' ? `${tool}(${pattern})` : pattern],
      scope,
    }
  }
  return raw
}

function ruleText(rule: Json): string {
  if (rule === null || typeof rule !== 'object' || Array.isArray(rule)) return String(rule)
  const { toolName, ruleContent } = rule
  if (typeof toolName !== 'string') return toJson(rule)
  return ruleContent === undefined || ruleContent === null
    ? copy.everyCall(toolName)
    : `${toolName}(${String(ruleContent)})`
}
