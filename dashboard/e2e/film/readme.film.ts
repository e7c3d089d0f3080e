import { execFileSync, spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import gifenc from 'gifenc'
import { PNG } from 'pngjs'
import type { Page } from '@playwright/test'
import { detail, expect, openAt, row, test } from '../fixtures.ts'

const { GIFEncoder, applyPalette, quantize } = gifenc
const root = fileURLToPath(new URL('../../..', import.meta.url))
const folder = fileURLToPath(new URL('../../docs/', import.meta.url))
const demo = fileURLToPath(new URL('../../node_modules/.cache/hookback/demo', import.meta.url))

/** The limit of a recording, so that the README loads at once. */
const MAX_BYTES = 2_500_000
/** The time that a frame of the recording is visible, ms, at least. */
const STEP = 120

/** The simulated agents whose requests are still open at the end. */
const cast = 'shop-api,checkout-web,handbook,orders-service'

interface Frame {
  png: Buffer
  ms: number
}

/** Records the page. Equal frames become one. */
class Recorder {
  private frames: Frame[] = []

  constructor(private readonly page: Page) {}

  /** Shows the current page for a time. */
  async hold(ms: number): Promise<void> {
    const png = await this.page.screenshot()
    const last = this.frames.at(-1)
    if (last?.png.equals(png)) last.ms += ms
    else this.frames.push({ png, ms })
  }

  /** Records the page until a condition holds, a frame each STEP. */
  async until(done: () => Promise<boolean>): Promise<void> {
    for (let i = 0; i < 100; i++) {
      await this.hold(STEP)
      if (await done()) return
    }
    throw new Error('the recording waited too long')
  }

  /** One palette for all frames, and in each frame only the pixels that changed. */
  gif(): Uint8Array {
    const images = this.frames.map((f) => PNG.sync.read(f.png))
    const [first] = images
    if (!first) throw new Error('nothing was recorded')
    const { width, height } = first
    const palette = quantize(Buffer.concat(images.map((image) => image.data)), 255)
    const transparent = palette.length
    const gif = GIFEncoder()
    let before: Uint8Array | undefined
    images.forEach((image, i) => {
      const index = applyPalette(image.data, palette)
      const changed = before
        ? index.map((color, at) => (color === before?.[at] ? transparent : color))
        : index
      gif.writeFrame(changed, width, height, {
        palette: i === 0 ? [...palette, [0, 0, 0]] : undefined,
        transparent: i > 0,
        transparentIndex: transparent,
        delay: this.frames[i]?.ms ?? STEP,
        dispose: 1,
      })
      before = index
    })
    gif.finish()
    return gif.bytes()
  }
}

/** Starts the simulated agents, and returns a function that ends them. */
function startDemo(hub: string): () => void {
  execFileSync('go', ['build', '-o', demo, './scripts/demo'], { cwd: root, stdio: 'inherit' })
  const child = spawn(demo, ['-hub', hub, '-speed', '3', '-duration', '3m', '-only', cast], {
    stdio: 'ignore',
  })
  return () => child.kill('SIGTERM')
}

interface Status {
  status: string
  execution?: unknown
}

async function statusOf(hub: string, id: number): Promise<Status> {
  const event = (await (await fetch(`${hub}/events/${id}`)).json()) as { humanInTheLoopStatus: Status }
  return event.humanInTheLoopStatus
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`the recording of the README, ${colorScheme}`, async ({ page, hub }) => {
    await page.emulateMedia({ colorScheme })
    await openAt(page, hub)
    const stop = startDemo(hub.url)
    try {
      const asked = page.getByTestId('list').locator('[data-id]', { hasText: 'Drop the table' }).first()
      await expect(asked).toBeVisible({ timeout: 60_000 })
      const id = Number(await asked.getAttribute('data-id'))
      const film = new Recorder(page)
      await film.hold(1500)
      await row(page, id).click()
      await expect(detail(page, id)).toBeVisible()
      await film.hold(3500)
      // The first press scrolls to the end of the call. A request of high risk needs the key to be held.
      await page.keyboard.press('a')
      await film.hold(2000)
      await page.keyboard.down('a')
      await film.until(async () => (await statusOf(hub.url, id)).status !== 'pending')
      await page.keyboard.up('a')
      await film.until(async () => (await statusOf(hub.url, id)).execution !== undefined)
      await film.hold(3000)
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/film-${colorScheme}.png` })
      const gif = film.gif()
      expect(gif.length).toBeLessThan(MAX_BYTES)
      await mkdir(folder, { recursive: true })
      await writeFile(`${folder}approve-${colorScheme}.gif`, gif)
    } finally {
      stop()
    }
  })
}
