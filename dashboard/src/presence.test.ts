import { describe, expect, it } from 'vitest'
import { Presence } from './presence'

describe('who else is looking', () => {
  it('leaves this page out of the count', () => {
    const presence = new Presence()
    presence.look(7)
    presence.take({
      screens: 3,
      looking: [
        { id: 7, screens: 2 },
        { id: 9, screens: 1 },
      ],
    })
    expect([presence.screens, presence.looking(7), presence.looking(9), presence.looking(1)]).toEqual([
      3, 1, 1, 0,
    ])
  })

  it('is right at once when this page turns to another request', () => {
    const presence = new Presence()
    presence.look(7)
    presence.take({ screens: 2, looking: [{ id: 7, screens: 1 }] })
    presence.look(9)
    expect([presence.looking(7), presence.looking(9)]).toEqual([0, 0])
    presence.look(0)
    expect(presence.looking(9)).toBe(0)
  })

  it('counts nobody when it has not been told, or can not be', () => {
    const presence = new Presence()
    presence.look(7)
    expect(presence.looking(7)).toBe(0)
    presence.look(8)
    presence.take({ screens: 2, looking: [{ id: 7, screens: 1 }] })
    presence.forget()
    expect([presence.screens, presence.looking(7)]).toEqual([0, 0])
  })
})
