import type { ReportedPolicy } from '../../lib/api/schema'

/** The index of the file that an address names, or else of the user's; -1 if there is none. */
export function fileOf(files: readonly ReportedPolicy[], query: URLSearchParams): number {
  const [path, host] = [query.get('path'), query.get('host') ?? '']
  const named = files.findIndex((file) => file.path === path && (file.host ?? '') === host)
  return named >= 0 ? named : files.length > 0 ? 0 : -1
}
