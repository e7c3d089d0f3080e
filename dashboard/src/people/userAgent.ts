const systems: [RegExp, string][] = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux|X11/, 'Linux'],
]
const browsers: [RegExp, string][] = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\/|FxiOS\//, 'Firefox'],
  [/Chrome\/|CriOS\//, 'Chrome'],
  [/Safari\//, 'Safari'],
]
const find = (from: [RegExp, string][], text: string) => from.find(([sign]) => sign.test(text))?.[1]

/** A browser by its user agent, as people call it: "Chrome on Linux". */
export function describeUserAgent(userAgent: string | undefined): string {
  if (!userAgent) return 'A browser that says nothing of itself'
  const browser = find(browsers, userAgent)
  const system = find(systems, userAgent)
  if (!browser && !system) return userAgent.slice(0, 60)
  return `${browser ?? 'A browser'}${system ? ` on ${system}` : ''}`
}
