// Puts the modules of the build into a few files: one for the first paint, one for what the inbox
// loads right after it, one for each group of screens, and one for what several of them use.
// Left to itself the build makes a file of every module that two others share.
import type { RolldownOptions } from 'rolldown'

type Groups = Extract<NonNullable<Exclude<RolldownOptions['output'], unknown[]>>['codeSplitting'], object>
type Info = { importedIds: readonly string[]; dynamicallyImportedIds: readonly string[] } | null

/** The file of a module that others load on demand. The first pattern wins. */
const files: [RegExp, string][] = [
  [/\/(CommandPalette|ShortcutSheet|ApproveAll|SignIn|ShareDialog|RequestPage|LinkVotePage)\./, 'extras'],
  [/\/features\/(inbox|freeze)\/|\/app\/(LiveRegion|IdentityBadge)\.|\/AuditLogChanged\./, 'inbox'],
  [/\/features\/(sessions|stream)\/|\/app\/(History|shared)\./, 'history'],
  [/\/features\/(now|overview|policy)\//, '$1'],
  [/\/features\//, 'extras'],
  [/\/app\/(\w+)\./, '$1'],
]
/** Modules that stay by themselves whoever loads them: they are large, and few screens need them. */
const apart: [RegExp, string][] = [
  [/\/marked\//, 'marked'],
  [/\/features\/sessions\//, 'history'],
]

const match = (list: [RegExp, string][], id: string): string | undefined => {
  const [pattern, name] = list.find(([p]) => p.test(id)) ?? []
  return pattern && pattern.exec(id)?.[0].replace(pattern, name ?? '')
}

/** The modules that load with one, without those of keep. */
function reach(root: string, info: (id: string) => Info, keep = new Set<string>()): Set<string> {
  const seen = new Set([root])
  for (const id of seen) for (const next of info(id)?.importedIds ?? []) if (!keep.has(next)) seen.add(next)
  return seen
}

/** Maps each module that is not part of the first paint to its file. */
function assign(entry: string, info: (id: string) => Info): Map<string, string> {
  const first = reach(entry, info)
  const assigned = new Map<string, string>()
  const roots = new Set([entry])
  for (const root of roots) {
    const loaded = reach(root, info, root === entry ? new Set() : first)
    for (const id of loaded) {
      for (const lazy of info(id)?.dynamicallyImportedIds ?? []) roots.add(lazy)
      if (first.has(id)) continue
      const [before, file] = [assigned.get(id), match(apart, id) ?? match(files, root) ?? 'shared']
      if (before === undefined || before === file) assigned.set(id, file)
      else assigned.set(id, before === 'inbox' || file === 'inbox' ? 'inbox' : 'shared')
    }
  }
  return assigned
}

export function chunks(entry: string): Groups {
  let assigned: Map<string, string> | undefined
  return {
    groups: [
      { name: 'start', tags: ['$initial'], priority: 1 },
      {
        debugName: 'on demand',
        name: (id, build) => (assigned ??= assign(entry, (m) => build.getModuleInfo(m))).get(id),
        includeDependenciesRecursively: false,
      },
    ],
  }
}
