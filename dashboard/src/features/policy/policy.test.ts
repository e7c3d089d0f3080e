import { describe, expect, it } from 'vitest'
import init from '../../../../agentclient/internal/cli/policycmd/policystarter.json'
import { parseFileRule } from '../../lib/rules/fileRule'
import { starters } from './starters'

describe('Starter rules', () => {
  it.each(starters)('are rules of hookback policy init: $title', ({ json }) => {
    expect(init.rules).toContainEqual(JSON.parse(json))
    expect(parseFileRule(json)).toMatchObject({ target: 'file', then: 'ask', scope: 'when' })
  })
})
