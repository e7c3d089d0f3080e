import type { Freeze } from '../api/schema'
import { freezeText } from './lazyText'

/** The hub's name for callers without credentials. */
const LOCAL = 'local user'

/** The beginning of the hub's name for an agent's token. */
const AGENT = /^agent /

/** Who froze which agents, as one sentence. It contains names that agents chose. */
export function freezeSentence({ by, scope, source_app: app = '' }: Freeze): string {
  const who = by === LOCAL ? freezeText.local : by?.replace(AGENT, 'Agent ') || freezeText.someone
  return scope === 'all' ? freezeText.all(who) : freezeText[scope](who, app)
}
