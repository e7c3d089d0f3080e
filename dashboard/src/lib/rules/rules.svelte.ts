import { ApiError } from '../api/api'
import { revokeRule, rules as fetchRules } from '../api/inboxApi'
import type { Rule } from '../api/schema'
import type { Problem } from '../api/types'

/** The hub's rules as last loaded. */
class Rules {
  /** undefined before the first load. */
  all: Rule[] | undefined = $state.raw()
  problem: Problem | undefined = $state.raw()
  private loads = 0

  async load(): Promise<void> {
    const mine = ++this.loads
    try {
      const found = await fetchRules()
      if (mine !== this.loads) return
      this.all = found
      this.problem = undefined
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (mine === this.loads) this.problem = error.problem
    }
  }

  byId(id: number): Rule | undefined {
    return this.all?.find((rule) => rule.id === id)
  }

  add(rule: Rule): void {
    this.all = [rule, ...(this.all ?? []).filter(({ id }) => id !== rule.id)]
  }

  /** Revokes a rule. Returns the problem if that failed. */
  async revoke(id: number): Promise<Problem | undefined> {
    try {
      const rule = await revokeRule(id)
      if (this.byId(id)) this.all = this.all?.map((other) => (other.id === id ? rule : other))
      else this.add(rule) // created since the list was loaded
      return undefined
    } catch (error) {
      if (error instanceof ApiError) return error.problem
      throw error
    }
  }
}

export const rules = new Rules()
