import { get, post, problemOf, remove } from '../api/api'
import { onReconnect } from '../api/reconnect'
import type { Rule } from '../api/schema'
import type { Problem } from '../api/types'
import { hub, live } from '../stream/liveState.svelte'
import { ruleStatus } from './ruleText'

/** The allowance of a session at a time of the hub; undefined if it has none. */
export const allowanceOf = (
  all: readonly Rule[],
  app: string,
  session: string,
  now: number,
): Rule | undefined =>
  all.find(
    (rule) => rule.source_app === app && rule.session_id === session && ruleStatus(rule, now) === 'active',
  )

/** The rules that allow the harmless calls of a session for 15 minutes. The active ones are part of the hub's state. */
class Allowances {
  /** The request for whose session the person is about to start one. */
  asked: number | undefined = $state()
  /** Why ending one failed. */
  problem: Problem | undefined = $state.raw()
  private loadedFor: unknown

  constructor() {
    onReconnect(() => (this.problem = undefined))
  }

  of(app: string, session: string): Rule | undefined {
    return live.allowances.length > 0 ? allowanceOf(live.allowances, app, session, live.now) : undefined
  }

  /** Loads the active ones, once per connection; the stream sends later changes. */
  async load(): Promise<void> {
    const { connection } = hub
    if (connection.phase !== 'live' || this.loadedFor === connection) return
    this.loadedFor = connection
    const before = hub.allowances
    const list = await get('/api/rules').catch(() => undefined) // the hub acts on them in any case
    if (!list) this.loadedFor = undefined
    else if (hub.allowances === before)
      hub.setAllowances(
        list.filter((r) => r.scope === 'session' && ruleStatus(r, hub.clock.now()) === 'active'),
      )
  }

  /** Starts one for the session of a request. Throws ApiError. */
  async start(from: number, applyNow: boolean): Promise<void> {
    const rule = await post('/api/rules', {
      from,
      then: 'allow',
      scope: 'session',
      reach: 'session',
      ...(applyNow && { applyNow }),
    })
    const isOther = (r: Rule) => r.source_app !== rule.source_app || r.session_id !== rule.session_id
    hub.setAllowances([...hub.allowances.filter(isOther), rule])
  }

  /** Ends one now. */
  async end(id: number): Promise<void> {
    this.problem = undefined
    try {
      await remove('/api/rules/:id', { id })
      hub.setAllowances(hub.allowances.filter((rule) => rule.id !== id))
    } catch (error) {
      this.problem = problemOf(error)
    }
  }
}

export const allowances = new Allowances()
