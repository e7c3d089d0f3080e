import { describe, expect, it } from 'vitest'
import { Presence } from './presence'

describe('Presence', () => {
  it('excludes this page from the count', () => {
    const presence = new Presence()
    presence.setViewing(7)
    presence.update({
      screens: 3,
      looking: [
        { id: 7, screens: 2 },
        { id: 9, screens: 1 },
      ],
    })
    expect([
      presence.screens,
      presence.otherViewers(7),
      presence.otherViewers(9),
      presence.otherViewers(1),
    ]).toEqual([3, 1, 1, 0])
  })

  it('updates immediately when this page shows another request', () => {
    const presence = new Presence()
    presence.setViewing(7)
    presence.update({ screens: 2, looking: [{ id: 7, screens: 1 }] })
    presence.setViewing(9)
    expect([presence.otherViewers(7), presence.otherViewers(9)]).toEqual([0, 0])
    presence.setViewing(0)
    expect(presence.otherViewers(9)).toBe(0)
  })

  it('names the other people who look at a request', () => {
    const presence = new Presence()
    expect(presence.otherPeople(7, 'ada')).toEqual([])
    presence.update({ screens: 3, looking: [{ id: 7, screens: 3, people: ['ada', 'grace', 'noor'] }] })
    expect(presence.otherPeople(7, 'ada')).toEqual(['grace', 'noor'])
    expect(presence.otherPeople(9, 'ada')).toEqual([])
    presence.forget()
    expect(presence.otherPeople(7, 'ada')).toEqual([])
  })

  it('counts no one without data from the hub', () => {
    const presence = new Presence()
    presence.setViewing(7)
    expect(presence.otherViewers(7)).toBe(0)
    presence.setViewing(8)
    presence.update({ screens: 2, looking: [{ id: 7, screens: 1 }] })
    presence.forget()
    expect([presence.screens, presence.otherViewers(7)]).toEqual([0, 0])
  })
})
