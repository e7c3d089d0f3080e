import { describe, expect, it, vi } from 'vitest'
import { ApiError } from './api'
import { blockerFor, passkeyOrigin, canOnlyDeny, needsPasskey } from '../format/permissions'
import { me } from './currentUser.svelte'
import { confirmAction, signAnswer } from './passkeys'
import { toRequest, type Request } from '../stream/requests'
import { aRequest } from '../../testing/factories'
import type { Me, Response as Answer, Risk } from './types'

const mara: Me = { name: 'mara', verified: true, locked: false, canAnswer: true, canAdmin: true }
const at = 'http://localhost:4000'
const guarded: Me = { ...mara, passkeyFor: 'high', passkeyAt: location.origin, passkeys: 1 }
const asked = (risk: Risk) => toRequest(aRequest(1, {}, { risk })) as Request

describe('Passkey', () => {
  it.each<[string, Me | undefined, Risk, Answer, boolean]>([
    ['of a risky approval', guarded, 'high', { permission: true }, true],
    ['of a risky choice', guarded, 'critical', { choice: 'go' }, true],
    ['not of a denial', guarded, 'critical', { permission: false }, false],
    ['not of the choice to deny', guarded, 'high', { choice: 'Deny' }, false],
    ['not of a small risk', guarded, 'medium', { permission: true }, false],
    ['not where none is asked for', mara, 'critical', { permission: true }, false],
    ['not where the hub knows no people', undefined, 'critical', { permission: true }, false],
  ])('is required: %s', (_, who, risk, what, wanted) =>
    expect(needsPasskey(asked(risk), who, what)).toBe(wanted),
  )

  it('belongs to one origin; other origins can only deny', () => {
    expect(passkeyOrigin(guarded)).toBeUndefined()
    expect(passkeyOrigin({ ...guarded, passkeyAt: at })).toBe(at)
    const blocker = blockerFor(asked('high'), { ...guarded, passkeyAt: at })
    expect(blocker).toEqual({ why: 'elsewhere', at })
    expect(canOnlyDeny(blocker)).toBe(true)
    expect(canOnlyDeny({ why: 'role' })).toBe(false)
  })

  it('is required of unauthenticated users, too', () =>
    expect(blockerFor(asked('high'), { ...guarded, verified: false, passkeys: 0 })).toEqual({
      why: 'passkey',
    }))

  it('reports a problem if the browser does not support it', async () => {
    const options = { publicKey: { challenge: 'AAAA' } }
    vi.stubGlobal('fetch', () => Promise.resolve(Response.json(options)))
    const failed = await signAnswer(1, { permission: true }).catch((e: unknown) => e)
    expect(failed).toBeInstanceOf(ApiError)
    expect((failed as ApiError).problem).toMatchObject({ code: 'proof_required' })
    expect((failed as ApiError).problem.hint).toContain('does not support passkeys')
    vi.unstubAllGlobals()
  })

  it('confirms exactly one change of credentials', async () => {
    const posted: [string, unknown][] = []
    vi.stubGlobal('fetch', (path: string, init: RequestInit) => {
      posted.push([path, JSON.parse(init.body as string)])
      return Promise.resolve(Response.json({ publicKey: { challenge: 'AAAA' } }))
    })
    class Assertion {
      static readonly parseRequestOptionsFromJSON = (options: unknown) => options
      toJSON = () => ({ id: 'k1' })
    }
    vi.stubGlobal('PublicKeyCredential', Assertion)
    vi.stubGlobal('navigator', { credentials: { get: () => Promise.resolve(new Assertion()) } })
    me.identity = guarded
    expect(await confirmAction('reset', 'bob')).toEqual({ proof: { id: 'k1' } })
    expect(posted).toEqual([['/api/passkeys/confirm', { do: 'reset', target: 'bob' }]])
    me.identity = { ...guarded, passkeys: 0 }
    expect(await confirmAction('reset', 'bob')).toEqual({})
    me.identity = undefined
    vi.unstubAllGlobals()
  })
})
