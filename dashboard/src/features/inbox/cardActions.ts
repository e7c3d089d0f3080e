import { requiresVotes } from '../../lib/stream/requests'
import type { Binding } from '../../lib/keys/shortcuts'
import type { Card } from './card.svelte'
import type { Panel } from './draft.svelte'
import { inboxText } from './text'
import { lazyInboxText } from './lazyText'

/** An action of a card, other than its main answers. */
export interface CardAction {
  label: string
  keys?: string
  /** It denies at once, instead of opening a form. */
  denies?: boolean
  disabled?: boolean
  run: () => void
}

/** The person's actions on a permission, other than approve and deny, by importance. */
export function cardActions({ request, question, draft: { form }, denies, send }: Card): CardAction[] {
  const votes = requiresVotes(request)
  const needsReason = (question.reasonRequired ?? 'never') !== 'never'
  const open = (panel: Panel) => () => void (form.panel = panel)
  const stop = () => {
    const reason = form.reason.trim()
    if (needsReason && !reason) form.panel = 'deny'
    else send({ permission: false, interrupt: true, ...(reason && { reason }) })
  }
  const actions: CardAction[] = []
  const { toolCall } = question
  if (toolCall?.editable === true && !denies) {
    if (form.panel === 'edit')
      actions.push({ label: lazyInboxText.card.discardEdits, keys: 'e', run: discardEdits })
    else actions.push({ label: inboxText.edit, keys: 'e', run: open('edit') })
  }
  function discardEdits() {
    form.panel = 'none'
    form.fields = {}
  }
  if (votes) actions.push({ label: inboxText.comment, keys: 'c', run: open('comment') })
  if (!votes && !question.appeal)
    actions.push({ label: lazyInboxText.askBack.open, keys: 'q', run: open('ask') })
  if (question.interruptible === true && !votes) {
    const disabled = needsReason && form.panel === 'deny' && !form.reason.trim()
    actions.push({ label: lazyInboxText.askBack.stop, keys: 'Shift+S', denies: true, disabled, run: stop })
  }
  return form.panel === 'deny' ? actions.filter((a) => a.denies) : actions
}

/** The shortcuts of the actions. */
export const actionBindings = (actions: CardAction[]): Binding[] =>
  actions.flatMap(({ keys, denies, run }) => (keys ? [{ keys, decides: true, opens: !denies, run }] : []))
