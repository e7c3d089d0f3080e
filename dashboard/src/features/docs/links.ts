/** Where links to files lead that the hub does not serve. */
const REPOSITORY = 'https://github.com/hookback/hookback/blob/main/server/docs/'

/** Returns a link of the document in file as the page follows it: an address of the page, or one in the repository. */
export function linkFrom(file: string, href: string): string {
  if (/^[#/]/.test(href)) return href
  const url = new URL(href, REPOSITORY + file)
  const [below = '', hash = ''] = url.href.startsWith(REPOSITORY)
    ? url.href.slice(REPOSITORY.length).split(/(?=#)/)
    : []
  const name = /^(?:guide\/)?([\w-]+)\.md$/.exec(below)?.[1]
  if (name === 'README') return '/docs' + hash
  return name ? `/docs/${name}${hash}` : url.href
}

/** The fragment of a heading, as GitHub makes it. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')
