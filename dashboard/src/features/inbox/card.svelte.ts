import { me } from '../../lib/api/currentUser.svelte'
import type { Response } from '../../lib/api/types'
import { callPreview } from '../../lib/format/callPreview'
import { blockerFor, canOnlyDeny, withEdits } from '../../lib/format/permissions'
import { freezeOf } from '../../lib/stream/freezes'
import { live } from '../../lib/stream/liveState.svelte'
import { findVote, hasRecipients, isDecidable, isWhole, type Request } from '../../lib/stream/requests'
import { Draft } from './draft.svelte'
import { lazyBundle } from './lazyBundle.svelte'
import { inboxText } from './text'

export interface CardProps {
  request: Request
  answer: (answer: Response) => Promise<boolean>
  /** Absent if the request can only be answered here. */
  cancel?: (reason: string) => Promise<boolean>
  /** Snoozes the request; absent without a list. */
  snooze?: () => void
  /** The only thing on screen: no back link, large touch targets. */
  alone?: boolean
  /** The person whose signed link opened it. They are the voter, no matter who is signed in. */
  whose?: string
}

/** One request on screen: what the person may do with it, has entered for it, and sends. */
export class Card {
  readonly draft: Draft
  /** A message about the last action. */
  note = $state('')
  /** Whether the whole call has been on screen. */
  read = $state(false)

  /** The request as the hub sent it, without the edits of voters. */
  readonly given = $derived.by(() => this.props.request)
  readonly request = $derived(withEdits(this.given))
  readonly question = $derived(this.request.question)
  readonly isOpen = $derived(isDecidable(this.request))
  /** Whether the page has all of the request. Until then it shows no call and takes no answer. */
  readonly loaded = $derived(isWhole(this.given.event))
  readonly preview = $derived(
    this.loaded ? callPreview(this.request.event, this.request.status.view) : undefined,
  )
  /** The call is a plan: denying it asks for changes. */
  readonly plan = $derived(this.preview?.plan !== undefined)
  /** Wide enough for a side-by-side diff. */
  readonly broad = $derived((this.preview?.changes.length ?? 0) > 0)

  readonly blocker = $derived.by(() => {
    if (!this.isOpen || this.linked) return undefined
    const freeze = freezeOf(live.freezes, this.request.event)
    return blockerFor(this.request, me.identity) ?? (freeze && ({ why: 'frozen', freeze } as const))
  })
  /** The agent is frozen: it can't be approved now. */
  readonly frozen = $derived(this.blocker?.why === 'frozen')
  /** Only a denial is possible. */
  readonly denies = $derived(this.blocker !== undefined && !this.frozen)
  /** Whether the person may answer. */
  readonly answers = $derived(
    !this.blocker || (canOnlyDeny(this.blocker) && this.question.type === 'permission'),
  )
  /** Whether the person may extend and cancel. */
  readonly acts = $derived.by(() => {
    const why = this.blocker?.why
    return this.isOpen && this.loaded && !!this.props.cancel && why !== 'sign-in' && why !== 'role'
  })
  readonly voted = $derived.by(() => findVote(this.request, this.props.whose ?? me.name) !== undefined)

  constructor(
    readonly props: CardProps,
    /** Shows the part of the call that was not on screen yet. */
    readonly readOn: () => void,
  ) {
    this.draft = new Draft(props.request.id)
  }

  /** Whether a signed link opened it. */
  get linked(): boolean {
    return this.props.whose !== undefined
  }

  /** Replaces the message about the last action. */
  report = (note: string): void => {
    this.note = note
  }

  send = (what: Response): void => void this.sendAnswer(what)

  private async sendAnswer(what: Response): Promise<void> {
    const lazy = lazyBundle.components
    if (what.permission === false && this.draft.form.again && lazy) {
      const problem = await lazy.denyForSession(this.request.id, what.reason)
      if (problem) return this.report(`${problem.detail ?? problem.title} ${inboxText.request.nothingSent}`)
    }
    this.keepReason(what)
    // With several deciders the answer names the revision that this person saw.
    const seen = hasRecipients(this.given) || (this.given.status.waiters ?? 1) > 1
    const answer = seen ? { ...what, revision: this.given.status.revision } : what
    if (await this.props.answer(answer)) this.draft.clear()
  }

  /** Keeps the reason of a denial in this browser, to be offered again. */
  private keepReason({ permission, reason, askBack }: Response): void {
    if (permission !== false || this.linked) return
    const { appeal, toolCall } = this.question
    const kind = askBack ? 'ask' : this.plan ? 'plan' : appeal && !appeal.later ? 'appeal' : 'call'
    lazyBundle.components?.keepReason(kind, toolCall?.name ?? '', askBack ?? reason ?? '')
  }

  async cancel(reason: string): Promise<void> {
    if (await this.props.cancel?.(reason)) this.draft.clear()
  }

  async copyLink(): Promise<void> {
    const path = `/r/${this.request.id}`
    try {
      await navigator.clipboard.writeText(location.origin + path)
      this.note = inboxText.request.linkCopied
    } catch {
      this.note = inboxText.request.linkIs(location.origin + path) // the clipboard is unavailable, such as over plain HTTP
    }
    const { copyPublicLink } = await import('../../lib/ui/copyPublicLink')
    this.note += await copyPublicLink(path)
  }
}
