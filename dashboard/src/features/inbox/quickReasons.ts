import { readStored, store } from '../../lib/page/stored'
import { lazyInboxText } from './lazyText'

/** The purpose of a reason: a denial, changes of a plan, a call that stays refused, or a question back. */
export type ReasonKind = 'call' | 'plan' | 'appeal' | 'ask'

/** A reason that a person of this browser sent. */
interface OwnReason {
  kind: string
  tool: string
  reason: string
}

const NAME = 'hookback.reasons'
/** How many reasons are offered, and how many of them are the person's own. */
const OFFERED = 4
const OWN = 2
/** How many reasons are kept, and how long one may be to fit on a button. */
const KEPT = 60
const LONGEST = 80

/** The kept reasons, newest first. */
const ownReasons = () => (readStored(NAME) ?? []) as OwnReason[]

/** The reasons that are offered: the newest own ones for this tool, then the usual ones. */
export function quickReasons(kind: ReasonKind, tool: string): string[] {
  const own = ownReasons().filter((r) => r.kind === kind && r.tool === tool)
  const texts = [...own.slice(0, OWN).map((r) => r.reason), ...lazyInboxText.reasons.usual[kind]]
  return [...new Set(texts)].slice(0, OFFERED)
}

/** Keeps a reason that was sent. One of the usual reasons or a long text is not kept. */
export function keepReason(kind: ReasonKind, tool: string, text: string): void {
  const reason = text.trim()
  const usual: readonly string[] = lazyInboxText.reasons.usual[kind]
  if (!reason || reason.length > LONGEST || reason.includes('\n') || usual.includes(reason)) return
  const others = ownReasons().filter((r) => r.kind !== kind || r.tool !== tool || r.reason !== reason)
  store(NAME, [{ kind, tool, reason }, ...others].slice(0, KEPT))
}
