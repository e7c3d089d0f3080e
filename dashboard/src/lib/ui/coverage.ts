// Whether agents run the gate: the names of the states, and their order.

import type { Coverage } from '../api/schema'

type State = Coverage['state']

export const coverageText = {
  states: {
    proven: 'proven',
    'not proven': 'not proven',
    changed: 'changed',
    'observe only': 'observe only',
    'not loaded': 'not loaded',
    off: 'off',
  } satisfies Record<State, string>,
  reported: 'Reported by the machine:',
  remedy: 'To do there:',
}

/** The states, the most urgent first. */
const urgency: State[] = ['off', 'not loaded', 'not proven', 'changed', 'observe only', 'proven']

export const coverageTone = (state: State): 'no' | 'wait' | 'ok' =>
  state === 'off' || state === 'not loaded' ? 'no' : state === 'proven' ? 'ok' : 'wait'

/** The rows, the most urgent state first. Equal states keep their order, by machine and account. */
export const byUrgency = (rows: readonly Coverage[]): Coverage[] =>
  [...rows].sort((a, b) => urgency.indexOf(a.state) - urgency.indexOf(b.state))
