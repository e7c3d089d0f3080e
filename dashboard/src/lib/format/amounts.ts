import type { Tokens } from '../api/schema'

/** An amount in dollars: "$0.04", "$12.30", "< $0.01". */
export function formatDollars(usd: number): string {
  if (usd > 0 && usd < 0.01) return '< $0.01'
  return '$' + usd.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
}

/** Formats a number of tokens: 940, 12.4k, 3.1M. */
export function formatTokens(n: number): string {
  if (n < 1000) return String(n)
  if (n < 999_500) return `${(n / 1000).toFixed(n < 99_950 ? 1 : 0)}k`
  return `${(n / 1e6).toFixed(1)}M`
}

/** All tokens read and written, including the cache. */
export const totalTokens = (t: Tokens | undefined): number =>
  t ? t.input + t.output + (t.cacheRead ?? 0) + (t.cacheWrite ?? 0) : 0
