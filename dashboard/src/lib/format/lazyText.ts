// Strings of components outside the first load.

/** Why a sign-in or a signed link failed. */
export const failureText = {
  unreachable: {
    title: 'The hub can’t be reached',
    text: 'Your link is still valid. Try again in a moment.',
  },
  linkInvalid: 'This link no longer works',
  linkUsed:
    'It has been used or has expired. Ask an admin for another link; your own hub prints one when it starts.',
  signInFailed: 'Sign-in failed',
  provider: {
    refused: 'The provider refused the sign-in. Ask its administrator whether you may use this hub.',
    lost: 'That sign-in was not started in this browser, or took longer than ten minutes. Start again here.',
    nameless:
      'The provider sent a name that another person here already has. An admin can add your e-mail address under Team, People, so the hub recognizes you.',
    'provider-down':
      'The hub can’t reach the provider right now. Try again in a moment, or use a sign-in link.',
  } as Record<string, string>,
  providerOther: 'The provider did not complete the sign-in. Start again here.',
  incomplete: {
    title: 'This link is incomplete',
    text: 'It was cut off; open it from the original message.',
  },
  byCode: {
    decided: 'This request is already decided',
    expired: 'This request has ended',
    stale: 'This request has changed since it was sent to you',
    held: 'Someone has just answered it',
    too_many: 'Too many attempts',
    frozen: 'Agents are frozen',
  } as Record<string, string>,
}

export const roleDescriptions: Record<string, string> = {
  viewer: 'sees everything, can’t answer',
  operator: 'answers requests',
  admin: 'answers requests and manages people, tokens, rules, and channels',
}

/** Who froze which agents. */
export const freezeText = {
  local: 'Someone on the hub’s machine',
  someone: 'Someone',
  all: (who: string) => `${who} froze all agents.`,
  app: (who: string, app: string) => `${who} froze the agents of ${app}.`,
  session: (who: string, app: string) => `${who} froze one session of ${app}.`,
}
