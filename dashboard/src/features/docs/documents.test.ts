import { describe, expect, it } from 'vitest'
import openApi from '../../../../schema/openapi.json?raw'
import { apiDocuments, type OpenApi } from './apiDocuments'
import { readIndex, searchDocuments } from './documents'
import { anchorOf, linkFrom } from './links'

const sources = import.meta.glob<string>('../../../../server/docs/{,guide/}*.md', {
  query: '?raw',
  import: 'default',
  eager: true,
})
const fileOf = (module: string) => module.replace(/.*\/server\/docs\//, '')
/** The documents by their file. */
const files = new Map(Object.entries(sources).map(([module, text]) => [fileOf(module), text]))
const pathOf = (file: string) =>
  file === 'README.md' ? '/docs' : '/docs/' + file.replace(/^guide\/|\.md$/g, '')
const api = apiDocuments(JSON.parse(openApi) as OpenApi)
/** Every document, by path. */
const all = new Map([...[...files].map(([file, text]) => [pathOf(file), text] as const), ...api])

const withoutCode = (markdown: string) => markdown.replace(/^```.*?^```/gms, '')
const anchors = (markdown: string) =>
  [...withoutCode(markdown).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))

describe('linkFrom', () => {
  it.each([
    ['README.md', 'guide/policy.md', '/docs/policy'],
    ['guide/policy.md', 'inbox.md#keys', '/docs/inbox#keys'],
    ['guide/policy.md', '../README.md', '/docs'],
    ['guide/policy.md', '#examples', '#examples'],
    ['README.md', '/docs/api', '/docs/api'],
    [
      'guide/policy.md',
      '../decisions/README.md',
      'https://github.com/hookback/hookback/blob/main/server/docs/decisions/README.md',
    ],
    [
      'guide/policy.md',
      '../../../schema/doc.go',
      'https://github.com/hookback/hookback/blob/main/schema/doc.go',
    ],
    ['guide/policy.md', 'https://example.com/a.md', 'https://example.com/a.md'],
  ])('in %s leads from %s to %s', (file, href, to) => expect(linkFrom(file, href)).toBe(to))

  it('leads from every document of the hub to another that exists, and to a heading in it', () => {
    const fileAt = new Map([...files.keys()].map((file) => [pathOf(file), file]))
    let links = 0
    for (const [path, markdown] of all)
      for (const [, href = ''] of withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)/g)) {
        const to = linkFrom(fileAt.get(path) ?? 'README.md', href)
        if (!/^(#|\/docs)/.test(to)) continue
        const [page = '', hash] = to.split('#')
        expect(all.has(page || path), `${path} links to ${to}`).toBe(true)
        if (hash) expect(anchors(all.get(page || path) ?? ''), `${path} links to ${to}`).toContain(hash)
        links++
      }
    expect(links).toBeGreaterThan(500)
  })
})

describe('readIndex', () => {
  it('lists every document of the hub', () => {
    const listed = readIndex(files.get('README.md') ?? '').flatMap(({ documents }) => documents)
    expect(listed.map(({ file }) => file).toSorted()).toEqual(
      [...files.keys()].filter((file) => file !== 'README.md').toSorted(),
    )
  })
})

describe('searchDocuments', () => {
  it('finds the sections that have all words, matches in titles first', () => {
    const [first] = searchDocuments(all, 'trusted HUB')
    expect(first).toMatchObject({
      path: '/docs/agents',
      of: 'Coding agents',
      title: 'The trusted hub',
      match: 'trusted',
    })
    expect(first?.before.length).toBeLessThan(100)
    expect(searchDocuments(all, 'QUORUM votes').length).toBeGreaterThan(0)
    expect(searchDocuments(all, ' ')).toEqual([])
    expect(searchDocuments(all, 'zzqqxx')).toEqual([])
  })

  it('takes no comment of a code block for a heading', () => {
    const found = searchDocuments(new Map([['/docs/a', '# A\n\n```\n# no heading\n```\n']]), 'heading')
    expect(found.map(({ title }) => title)).toEqual(['A'])
  })
})

describe('apiDocuments', () => {
  it('describes every operation, its parameters, its body with an example, and the types that it names', () => {
    const events = api.get('/docs/api/events') ?? ''
    const [, respond = ''] = events.split('\n## POST /events/{id}/respond')
    for (const part of [
      '**Answer a question.**',
      'Access: `decide`',
      '| `id` | [EventID](#eventid) | Required. id of the event |',
      'Request body: [Response](#response)',
      '"choice": "Vitest"',
      '| 409 |',
    ])
      expect(respond.split('\n## ')[0]).toContain(part)
    expect(events).toContain('### Response\n')
    expect(api.get('/docs/api')).toContain(
      '- [`POST /events/{id}/respond`](/docs/api/events#post-eventsidrespond): Answer a question',
    )
  })
})
