import type { RequestDefault } from '../../lib/api/schema'
import { joinNames } from '../../lib/format/text'
import { requestsText as text } from './text'

/** The times to choose from, in seconds; 0: no deadline. */
export const times = [60, 300, 900, 3600, 28_800, 86_400, 604_800, 0] as const

/** A time to answer; undefined: not set. */
export const timeName = (seconds: number): string =>
  (text.times as Record<number, string>)[seconds] ?? text.seconds(seconds)

/** A line as a sentence: its requests and their settings. */
export function defaultSentence(d: RequestDefault): string {
  const { timeoutSeconds: time, recipients: to, requiredApprovals: count = 0 } = d
  const parts = [
    time === undefined ? undefined : time === 0 ? text.noDeadline : text.deadline(timeName(time)),
    to?.mode === undefined
      ? to?.owners && text.toOwners
      : to.mode === 'anyone'
        ? text.toEveryone
        : text.toPeople(to.members?.length ? joinNames(to.members) : (text.to[to.mode] ?? to.mode)),
    count > 0 ? text.approvals(count) : undefined,
  ]
  return (
    text.subject(
      text.kinds[d.kind ?? ''] + (d.paths?.length ? text.inFiles(joinNames(d.paths)) : ''),
      text.risks[d.risk ?? ''],
    ) + parts.filter((part) => part).join(', ')
  )
}

/** The form of a new line. */
export interface DefaultForm {
  kind: NonNullable<RequestDefault['kind']> | ''
  risk: NonNullable<RequestDefault['risk']> | ''
  /** Globs, separated by spaces or commas. */
  paths: string
  /** Seconds as text; empty: not set. */
  time: string
  mode: keyof typeof text.modes
  members: string[]
  approvals: number | null
}

export const emptyForm = (): DefaultForm => ({
  kind: '',
  risk: '',
  paths: '',
  time: '',
  mode: '',
  members: [],
  approvals: null,
})

/** The line of a form, for the hub, which validates it. */
export function toDefault(f: DefaultForm): RequestDefault {
  return {
    ...(f.kind && { kind: f.kind }),
    ...(f.risk && { risk: f.risk }),
    ...(f.paths.trim() && { paths: f.paths.split(/[\s,]+/).filter(Boolean) }),
    ...(f.time !== '' && { timeoutSeconds: Number(f.time) }),
    ...(f.mode === 'owners' && { recipients: { owners: true } }),
    ...(f.mode &&
      f.mode !== 'owners' && {
        recipients: { mode: f.mode, ...(f.mode === 'selected_members' && { members: f.members }) },
      }),
    ...(f.approvals !== null && f.approvals > 1 && { requiredApprovals: f.approvals }),
  }
}
