import { fireEvent, render, screen } from '@testing-library/svelte'
import { afterEach, expect, test, vi } from 'vitest'
import CopyButton from './CopyButton.svelte'

afterEach(() => vi.unstubAllGlobals())

/** Copies with a hub that has this public address; empty: none. Returns the texts in the clipboard. */
async function copied(publicUrl: string): Promise<string[]> {
  const texts: string[] = []
  vi.stubGlobal('navigator', {
    clipboard: { writeText: (text: string) => Promise.resolve(texts.push(text)) },
  })
  const reach = { state: publicUrl ? 'ok' : 'local', publicUrl }
  const fetched = vi.fn(() => Promise.resolve(Response.json(reach)))
  vi.stubGlobal('fetch', fetched)
  render(CopyButton, { path: '/stream?event=7', label: 'Copy link' })
  await fireEvent.click(screen.getByRole('button', { name: 'Copy link' }))
  await vi.waitFor(() => expect(fetched).toHaveBeenCalled())
  await vi.waitFor(() => expect(texts).toHaveLength(publicUrl ? 2 : 1))
  return texts
}

test('a link is copied with the public address of the hub', async () => {
  expect((await copied('https://hub.example.com')).at(-1)).toBe('https://hub.example.com/stream?event=7')
})

test('without a public address, a link has the address of the page', async () => {
  expect((await copied('')).at(-1)).toBe(location.origin + '/stream?event=7')
})
