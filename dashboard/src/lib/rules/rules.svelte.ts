import { get, remove } from '../api/api'
import { Resource } from '../api/resource.svelte'
import type { Rule } from '../api/schema'

/** The hub's rules as last loaded. */
class Rules extends Resource<Rule[]> {
  byId(id: number): Rule | undefined {
    return this.value?.find((rule) => rule.id === id)
  }

  add(rule: Rule): void {
    this.value = [rule, ...(this.value ?? []).filter(({ id }) => id !== rule.id)]
  }

  /** Revokes a rule. Throws ApiError. */
  async revoke(id: number): Promise<void> {
    const rule = await remove('/api/rules/:id', { id })
    if (this.byId(id)) this.value = this.value?.map((other) => (other.id === id ? rule : other))
    else this.add(rule) // created since the list was loaded
  }
}

export const rules = new Rules(() => get('/api/rules'))
