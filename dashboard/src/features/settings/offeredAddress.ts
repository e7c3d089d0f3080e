/**
 * The public address in a link to the settings, as browsers write it, so that no character of it is
 * hidden; empty unless it is an https address of a host and nothing else.
 */
export function offeredAddress(text: string): string {
  if (text.length > 300 || !/^https:\/\/[^/?#@\\]+\/?$/i.test(text) || !URL.canParse(text)) return ''
  const { origin, protocol } = new URL(text)
  return protocol === 'https:' ? origin : ''
}
