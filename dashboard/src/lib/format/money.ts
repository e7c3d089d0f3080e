/** An amount in dollars: "$0.04", "$12.30", "< $0.01". */
export function formatDollars(usd: number): string {
  if (usd > 0 && usd < 0.01) return '< $0.01'
  return '$' + usd.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
}
