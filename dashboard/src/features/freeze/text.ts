// The texts of the bar that shows on every screen while agents are frozen.
export const freezeBarText = {
  label: 'Frozen agents',
  reason: '· Reason: ',
  session: 'Show the session',
  show: 'Show',
  hide: 'Hide',
  resume: 'Resume',
  resumeAll: 'Resume all',
  resumeOf: (sentence: string) => `Resume. ${sentence}`,
  signIn: 'Sign in',
  notFrozen: 'Agents were not frozen.',
  notResumed: 'Not resumed.',
  signInToResume: 'Sign in as an operator to resume agents.',
  dismiss: 'Dismiss',
  frozen: {
    all: 'All agents are frozen',
    app: (name: string) => `all agents of ${name}`,
    sessions: (n: number, app: string) => `${n} ${n === 1 ? 'session' : 'sessions'} of ${app}`,
    sentence: (subjects: string, isOne: boolean) =>
      `${subjects[0]?.toUpperCase() ?? ''}${subjects.slice(1)} ${isOne ? 'is' : 'are'} frozen`,
    by: (names: string[]) => (names.length > 0 ? ` by ${names.join(', ')}` : ''),
  },
  counts: {
    stopped: (n: number) => `${n} stopped`,
    finishing: (n: number) => `${n} finishing a call`,
    uncontrolled: (n: number) => `${n} not controllable (observe mode)`,
    unchecked: (n: number) =>
      `${n} ${n === 1 ? 'call' : 'calls'} ran unchecked (the hub could not be reached)`,
    none: 'No agent has tried a call since.',
  },
}
