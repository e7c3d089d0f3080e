import { describe, expect, it } from 'vitest'
import type { RequestDefault } from '../../lib/api/schema'
import { defaultSentence, emptyForm, timeName, toDefault } from './requestDefaults'

describe('defaultSentence', () => {
  it.each<[RequestDefault, string]>([
    [{ timeoutSeconds: 0 }, 'Every request, any risk: no deadline'],
    [{ kind: 'plan', timeoutSeconds: 3600 }, 'Plans, any risk: 1 hour to answer'],
    [
      { kind: 'permission', risk: 'critical', requiredApprovals: 2, recipients: { mode: 'owner_admins' } },
      'Permissions, critical risk: addressed to the owner and the admins, 2 people must agree',
    ],
    [
      { risk: 'low', recipients: { mode: 'anyone' } },
      'Every request, known to be harmless: everyone who may answer can',
    ],
    [
      {
        risk: 'unknown',
        timeoutSeconds: 77,
        recipients: { mode: 'selected_members', members: ['ada', 'bob'] },
      },
      'Every request, unknown risk: 77 seconds to answer, addressed to ada and bob',
    ],
  ])('describes %j', (line, sentence) => expect(defaultSentence(line)).toBe(sentence))

  it('names times', () =>
    expect([60, 0, 12].map(timeName)).toEqual(['1 minute', 'No deadline', '12 seconds']))
})

describe('toDefault', () => {
  it('leaves out what is not set', () => expect(toDefault(emptyForm())).toEqual({}))

  it('keeps what is set', () =>
    expect(
      toDefault({
        kind: 'choice',
        risk: 'high',
        paths: '',
        time: '0',
        mode: 'selected_members',
        members: ['ada'],
        approvals: 2,
      }),
    ).toEqual({
      kind: 'choice',
      risk: 'high',
      timeoutSeconds: 0,
      recipients: { mode: 'selected_members', members: ['ada'] },
      requiredApprovals: 2,
    }))

  it('sends names only with their mode', () =>
    expect(toDefault({ ...emptyForm(), mode: 'owner', members: ['ada'], approvals: 1 })).toEqual({
      recipients: { mode: 'owner' },
    }))
})
