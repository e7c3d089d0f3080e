/** Encodes text of agents for a URL. encodeURIComponent throws at half a character. */
// eslint-disable-next-line no-restricted-globals -- the one place
export const encode = (text: string): string => encodeURIComponent(text.toWellFormed())
