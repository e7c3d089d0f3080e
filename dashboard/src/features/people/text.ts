import type { SignInStep } from '../../lib/api/currentUser.svelte'
import type { Me, SignIn } from '../../lib/api/types'

/** User-visible strings of People, sign-in, and signed links. */
export const text = {
  title: 'People',
  intro: 'Stored in the hub, for everyone who uses it.',
  you: 'You',
  everyone: 'Everyone',
  yourPasskeys: 'Your passkeys',
  signedIn: 'Signed in',
  tokens: 'Tokens',
  unavailable: 'This hub has no accounts, or can’t be reached.',
  name: 'Name',
  back: 'Back',
  cancel: 'Cancel',
  loading: 'Loading …',
  retry: 'Try again',
}

/** The list of people and the invitation form. */
export const peopleText = {
  you: 'you',
  owner: 'owner',
  active: 'active',
  neverSignedIn: 'never signed in',
  passkeys: (n: number) => `${n} ${n === 1 ? 'passkey' : 'passkeys'}`,
  signIns: (n: number) => `${n} ${n === 1 ? 'sign-in' : 'sign-ins'}`,
  chats: { telegram: 'Telegram linked', slack: 'Slack linked' } as Record<string, string>,
  roleOf: (name: string) => `Role of ${name}`,
  email: 'E-mail',
  emailSuffix: (name: string) => ` of ${name}`,
  emailOf: (name: string) => `E-mail of ${name}`,
  newLink: 'New link',
  newLinkSuffix: (name: string) => ` for ${name}`,
  newLinkHint: (name: string) => `Create a one-time sign-in link for ${name}`,
  reset: 'Reset',
  resetSuffix: (name: string) => ` the account of ${name}`,
  resetHint: (name: string) => `For a lost device: end the access of ${name} and start over`,
  confirmRemove: 'Remove person, sign-ins, and tokens',
  save: 'Save',
  handlesOf: (name: string) => `Names of ${name} in CODEOWNERS`,
  handlesHint: 'Names in CODEOWNERS files, such as @ada @org/team.',
  emailHint: 'For notifications by e-mail. Empty: none.',
  empty: 'No people yet. The first person to sign in owns the hub.',
  onlyYou:
    'You’re the only person. Invite others who should answer: with two or more people, an agent can require several approvals, and no one has to approve their own request.',
  linkTitle: (name: string) => `Sign-in link for ${name}`,
  copyLink: 'Copy link',
  linkHint: (name: string) =>
    `Send it to ${name} over a trusted channel. It signs in one browser, once, within 15 minutes, and is not shown again.`,
  emailOptional: 'For notifications, optional.',
  role: 'Role',
  createLink: 'Create link',
  invite: 'Invite',
}

/** The dialog that resets the account of another person. */
export const resetText = {
  title: (name: string) => `Reset ${name}?`,
  intro: 'Use this if the person lost access, or if someone else may have it. This can’t be undone.',
  consequences: [
    'All their sign-ins, tokens, passkeys, and unused sign-in links end now.',
    'Their answers count only for requests that are asked after the reset.',
    'Everyone on this hub sees for 24 hours that you reset them.',
  ],
  after: 'Then create a sign-in link for them in the list of people.',
  reset: 'Reset account',
}

/** The banners on every screen. */
export const noticeText = {
  claimed: {
    before: 'You own this hub as',
    hint: 'It is locked: only people who are signed in can answer. You can unlock it under Team, People.',
    close: 'Close',
  },
  waiting: (n: number) => (n === 1 ? '1 request is waiting.' : `${n} requests are waiting.`),
  signInToAnswer: 'Sign in to answer.',
  signIn: 'Sign in',
  open: 'This hub is not locked.',
  openHint: 'Programs of the hub’s account, agents included, can answer without signing in.',
  lock: 'Lock the hub',
  reset: {
    before: 'reset the account of',
    after: ': earlier sign-ins, tokens, and passkeys ended.',
  },
  promoted: { before: 'made', after: ' an admin.' },
  more: (n: number) => `and ${n} more in the last 24 hours`,
  people: 'People',
}

export const passkeyText = {
  intro: (from: Me['passkeyFor']) =>
    from === undefined
      ? 'A passkey confirms changes of your account and, on a phone, the approval of a high-risk request.'
      : `To approve ${{ critical: 'a critical request', high: 'a high-risk or critical request', unknown: 'a request that is not known to be harmless' }[from]}, you confirm with a passkey: a fingerprint, a face, a PIN, or a security key, for each answer. Denying needs none.`,
  added: (at: string) => `for ${at}, added`,
  used: 'used',
  neverUsed: 'never used',
  otherOrigin: 'Passkeys are bound to a host name, and this page has a different one.',
  openAt: 'Open this page at',
  signInThere: 'and sign in there.',
  nameHint: 'Distinguishes it from your other passkeys.',
  create: 'Create passkey',
  add: 'Add passkey',
}

export const signInsText = {
  methods: {
    link: 'with a link',
    oidc: 'with your organization',
    token: 'with a token',
    pair: 'as a paired device',
  } satisfies Record<SignIn['way'], string>,
  thisBrowser: 'this browser',
  used: 'used',
  until: 'until',
  signOut: 'Sign out',
  revoke: 'Revoke',
  confirmSignOut: 'Confirm sign out',
  confirmRevoke: 'Confirm revoke',
  empty: 'No browser is signed in. Signed-in browsers appear here, so you can revoke a lost one.',
}

export const tokenText = {
  intro: 'For agents on other machines and in containers, and for scripts.',
  signInTo: 'manage tokens',
  lifetimes: [
    [7, '7 days'],
    [30, '30 days'],
    [90, '90 days'],
    [365, '1 year'],
  ] as const,
  untilRevoked: 'Until revoked',
  expired: 'expired',
  permissionsOf: 'has the permissions of',
  postsAs: 'posts as',
  postsAsAny: 'posts under any name',
  used: 'used',
  neverUsed: 'never used',
  until: 'until',
  revoke: 'Revoke',
  confirmRevoke: 'Confirm revoke',
  empty:
    'No tokens yet. Agents on this machine need none. An agent in a container or on another machine needs its own: it can ask and withdraw its requests, but never answer. A person’s token answers on their behalf, for scripts.',
  secretTitle: (name: string) => `Token “${name}”`,
  copyToken: 'Copy the token',
  copyForShell: 'Copy for a shell',
  storedAsHash: 'The hub stores only its hash. It is not shown again.',
  personHint: 'Anyone who has it can answer in your name.',
  agentHint: 'The agent library and the hookback command read it from HOOKBACK_TOKEN.',
  owner: 'Owner',
  agentToken: 'An agent',
  agentTokenHint: 'asks and observes, never answers',
  myToken: 'Me',
  myTokenHint: 'has your permissions, for scripts',
  mayPostAs: { label: 'May post as', hint: 'Application names, * for any characters. Empty: any name.' },
  expires: 'Expires',
  create: 'Create token',
}

/** The page of a phone that scanned a pairing code. */
export const pairText = {
  intro:
    'This device gets access to the hub as the person who showed the code. It can answer requests, and can’t change people, tokens or settings of the hub.',
  pair: 'Pair this device',
  incomplete: 'The pairing code is incomplete. Scan the whole QR code again.',
  paired: 'This device is paired.',
  as: 'You answer as',
  install:
    'Install the app: choose “Install app” or “Add to Home Screen” in the menu of the browser. iPhones need this for notifications.',
  push: 'Turn on notifications',
  passkeyHint: 'To approve high-risk requests on this device, it needs a passkey.',
  addPasskey: 'Add a passkey',
  passkeyAdded: 'This device can approve high-risk requests with your passkey.',
  done: 'Open the inbox',
}

export const signInText = {
  /** Titles of steps; the others have that of the form. */
  titles: { name: 'Welcome to your hub', pair: 'Pair this device', failed: 'Sign-in failed' } as Partial<
    Record<SignInStep['step'], string>
  >,
  welcomeTitle: (name: string) => `Welcome, ${name}`,
  signingIn: 'Signing you in …',
  claimIntro:
    'You are the first person here, so this hub is yours. Your name is shown on every decision you make, to people and agents.',
  yourName: 'Your name',
  claim: 'Claim this hub',
  notNow: 'Not now',
  welcome: 'You are signed in. Programs of the hub’s account can still answer without signing in.',
  changeable: 'You can change this at any time.',
  lock: 'Lock the hub',
  leaveUnlocked: 'Leave it unlocked',
  organization: 'Sign in with your organization',
  link: 'Sign-in link',
  signIn: 'Sign in',
  invalidLink: 'This is not a sign-in link.',
  ownHub: 'Your own hub',
  ownHubHint:
    'It prints a sign-in link in the terminal where it was started; without a terminal, the link is in the file sign-in-link next to the database. Open the link, or paste it here.',
  otherHub: 'Someone else’s hub',
  otherHubHint: 'Ask an admin to create a link for you in Team, People.',
  lockedOut: 'Locked out?',
  lockedOutCommand: 'Stop the hub and run',
  lockedOutHint: 'It prints a link for that person.',
}

export const signInRequiredText = {
  expired: 'Your sign-in on this browser has ended.',
  draftKept: 'Your draft is kept until you are back.',
  intro: 'Sign in to see this hub.',
}

export const sessionExpiredText = {
  title: 'You are signed out.',
  text: 'The sign-in of this browser has expired or was revoked. Your draft is kept.',
  signIn: 'Sign in again',
  continue: 'Continue signed out',
}

export const userAgentText = {
  unknown: 'Unknown browser',
  someBrowser: 'A browser',
  on: (browser: string, system: string) => `${browser} on ${system}`,
}
