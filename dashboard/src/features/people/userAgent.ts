import { userAgentText } from './text'

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
const findName = (names: [RegExp, string][], userAgent: string) =>
  names.find(([pattern]) => pattern.test(userAgent))?.[1]

/** The browser and system of a user agent, such as "Chrome on Linux". */
export function describeUserAgent(userAgent: string | undefined): string {
  if (!userAgent) return userAgentText.unknown
  const browser = findName(browsers, userAgent)
  const system = findName(systems, userAgent)
  if (!browser && !system) return userAgent.slice(0, 60)
  const name = browser ?? userAgentText.someBrowser
  return system ? userAgentText.on(name, system) : name
}
