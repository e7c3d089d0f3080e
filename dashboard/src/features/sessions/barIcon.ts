import Bell from '@lucide/svelte/icons/bell'
import Clock from '@lucide/svelte/icons/clock'
import Check from '@lucide/svelte/icons/check'
import Dot from '@lucide/svelte/icons/circle-small'
import Ban from '@lucide/svelte/icons/ban'
import Hand from '@lucide/svelte/icons/hand'
import Hourglass from '@lucide/svelte/icons/ellipsis'
import Power from '@lucide/svelte/icons/power'
import MessageSquare from '@lucide/svelte/icons/message-square'
import Question from '@lucide/svelte/icons/circle-question-mark'
import X from '@lucide/svelte/icons/x'
import type { Bar } from './timeline'

const callIcons: Partial<Record<Bar['state'], typeof Bell>> = {
  ok: Check,
  failed: X,
  denied: Ban,
  unanswered: Clock,
  running: Hourglass,
  lost: Question,
}
const markIcons: Partial<Record<Bar['style'], typeof Bell>> = {
  note: Bell,
  session: Power,
  fail: X,
  prompt: MessageSquare,
  ask: Hand,
}

export function barIcon(bar: Bar): typeof Bell {
  if (bar.kind === 'wait') return Hand
  return (bar.kind === 'call' ? callIcons[bar.state] : markIcons[bar.style]) ?? Dot
}
