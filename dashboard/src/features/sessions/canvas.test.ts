import { expect, it } from 'vitest'
import type { Event } from '../../lib/api/types'
import { drawTimeline, type ThemeColors, type Scene } from './canvas'
import { Session } from './timeline'
import { layOutLanes } from './layout'
import { TimeScale } from './timeScale'

/** Even ids are ends of calls without a start. */
const event = (id: number, timestamp: number) =>
  ({
    id,
    timestamp,
    source_app: 'api',
    session_id: 's1',
    hook_event_type: id % 2 ? 'PreToolUse' : 'PostToolUse',
    tool_name: 'Bash',
    tool_use_id: `t${id}`,
    payload: { tool_input: { command: `make ${id}` } },
  }) as Event

/** A canvas context that counts calls by method name. */
function recorder() {
  const calls: Record<string, number> = {}
  const pen = new Proxy({} as Record<string, unknown>, {
    get(held, name: string) {
      if (name in held) return held[name]
      return () => {
        calls[name] = (calls[name] ?? 0) + 1
        return { width: 40 }
      }
    },
  })
  return { pen: pen as unknown as CanvasRenderingContext2D, calls }
}

function drawn(n: number) {
  const session = new Session()
  for (let i = 0; i < n; i++) session.addEvent(event(i + 1, 1_000_000 + i * 1000))
  const now = session.last + 1000
  const { rows, height } = layOutLanes(session.lanes, false)
  const { pen, calls } = recorder()
  const scale = new TimeScale(session.start, now, []).fit(600, 1)
  const picture = {
    width: 600,
    height: 400,
    left: 0,
    top: 0,
    scale,
    rows,
    bottom: height,
    now,
    prompts: [],
  }
  drawTimeline(pen, { ...picture, colors: {} as ThemeColors, font: 'f' } as unknown as Scene)
  return calls
}

it('draws only the visible part of overlapping calls', () => {
  const [some, many] = [drawn(50), drawn(5000)]
  expect(some.roundRect).toBeGreaterThanOrEqual(50)
  // 5,000 unfinished calls on 600 px: one line or bar per 2 px, and labels if there is room.
  expect((many.roundRect ?? 0) + (many.fillRect ?? 0)).toBeLessThan(400)
  expect(many.fillText).toBeLessThan(60)
})
