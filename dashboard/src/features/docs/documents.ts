import { apiDocuments, type OpenApi } from './apiDocuments'
import { linkFrom } from './links'
import { apiText, text } from './text'

/** A document of the hub. */
export interface Document {
  /** Its address, as in /docs/policy. */
  path: string
  title: string
  /** Below server/docs in the repository. */
  file: string
}

export interface DocumentGroup {
  title: string
  documents: Document[]
}

/** Returns the groups of documents that the index lists. */
export function readIndex(markdown: string): DocumentGroup[] {
  const groups: DocumentGroup[] = []
  for (const line of markdown.split('\n')) {
    const [, group, title = '', file = ''] = /^## (.+)|^- \[(.+?)\]\((.+?)\)/.exec(line) ?? []
    const path = linkFrom('README.md', file)
    if (group) groups.push({ title: group, documents: [] })
    else if (file && path.startsWith('/')) groups.at(-1)?.documents.push({ path, title, file })
  }
  return groups
}

/** Returns the body at a path of the hub, or undefined if there is none. */
async function read(path: string): Promise<string | undefined> {
  const response = await fetch(path)
  if (response.status === 404) return undefined
  if (!response.ok) throw new Error(text.notLoaded)
  return response.text()
}

const readApi = async () => apiDocuments(JSON.parse((await read('/openapi.json')) ?? '{}') as OpenApi)

/** Returns the index of all documents, in Markdown. */
const readIndexSource = async () => ((await read('/docs/README.md')) ?? '') + apiText.more

export const loadIndex = async (): Promise<DocumentGroup[]> => readIndex(await readIndexSource())

/** Returns the Markdown of the document at a path; undefined: there is none. */
export async function loadDocument(path: string): Promise<string | undefined> {
  if (path === text.index) return readIndexSource()
  if (path === '/licenses') return `# ${apiText.licenses}\n\n~~~~~~\n${(await read(path)) ?? ''}\n~~~~~~\n`
  if (/^\/docs\/api(\/|$)/.test(path)) return (await readApi()).get(path)
  return read(path + '.md')
}

/** A heading of a document and the text below it, until the next heading. */
interface Section {
  path: string
  /** The title of the document. */
  of: string
  title: string
  text: string
}

/** A section that has all words of a query. */
export interface Result extends Section {
  /** The text around the first word: before it, itself, and after it. */
  before: string
  match: string
  after: string
}

const CONTEXT = 90
const RESULTS = 30

/** Splits a document at its headings. */
function sections(path: string, markdown: string): Section[] {
  const all: Section[] = []
  let fenced = false
  for (const line of markdown.split('\n')) {
    if (line.startsWith('```')) fenced = !fenced
    const title = fenced ? undefined : /^#+ (.+)/.exec(line)?.[1]?.replaceAll('`', '')
    const last = all.at(-1)
    if (title) all.push({ path, of: all[0]?.title ?? title, title, text: '' })
    else if (last) last.text += line.replace(/\]\([^)]*\)|[[\]`|*]|^[-#\s|]+$/g, ' ') + ' '
  }
  return all
}

/** Returns the sections that have all words of a query, matches in titles first. sources: by path. */
export function searchDocuments(sources: ReadonlyMap<string, string>, query: string): Result[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const [first] = words
  if (!first) return []
  const inTitle = ({ title }: Section) => words.filter((word) => title.toLowerCase().includes(word)).length
  return [...sources]
    .flatMap(([path, markdown]) => sections(path, markdown))
    .filter((s) => words.every((word) => `${s.title}\n${s.text}`.toLowerCase().includes(word)))
    .toSorted((a, b) => inTitle(b) - inTitle(a))
    .slice(0, RESULTS)
    .map((section) => ({ ...section, ...excerpt(section.text.replace(/\s+/g, ' ').trim(), first) }))
}

/** Returns the text around the first occurrence of a word, cut between words. */
function excerpt(body: string, word: string) {
  const at = body.toLowerCase().indexOf(word)
  const [start, end] = at < 0 ? [0, 0] : [at, at + word.length]
  const [before, after] = [body.slice(0, start), body.slice(end)]
  return {
    before: before.length > CONTEXT ? '… ' + before.slice(-CONTEXT).replace(/^\S* /, '') : before,
    match: body.slice(start, end),
    after: after.length > CONTEXT ? after.slice(0, CONTEXT).replace(/ \S*$/, '') + ' …' : after,
  }
}

/** Searches all documents of the hub. */
export async function search(query: string): Promise<Result[]> {
  const paths = (await loadIndex()).flatMap(({ documents }) => documents).map(({ path }) => path)
  const guide = paths.filter((path) => path.startsWith('/docs/') && path !== '/docs/api')
  const sources = guide.map(async (path) => [path, (await loadDocument(path)) ?? ''] as const)
  return searchDocuments(new Map([...(await Promise.all(sources)), ...(await readApi())]), query)
}
