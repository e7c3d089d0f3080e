// The coding agents that hooks speak for, under the names of agentclient/hook: an
// event says which one posted it.

export interface CodingAgent {
  id: string
  name: string
  /** Two letters in the place of an icon: they never stand without the name near. */
  mark: string
}

const known: Record<string, [name: string, mark: string]> = {
  'claude-code': ['Claude Code', 'CC'],
  codex: ['Codex CLI', 'Cx'],
  gemini: ['Gemini CLI', 'Ge'],
  cursor: ['Cursor', 'Cu'],
  copilot: ['GitHub Copilot CLI', 'Co'],
  opencode: ['OpenCode', 'OC'],
  qwen: ['Qwen Code', 'Qw'],
  droid: ['Factory Droid', 'Dr'],
  crush: ['Crush', 'Cr'],
  cline: ['Cline', 'Cl'],
  windsurf: ['Windsurf', 'Wi'],
  kiro: ['Kiro CLI', 'Ki'],
  antigravity: ['Antigravity', 'An'],
}

/** The coding agent of that name; one that this page does not know keeps its own name. */
export function codingAgent(id: string): CodingAgent {
  const [name, mark] = (Object.hasOwn(known, id) ? known[id] : undefined) ?? [id, '']
  return { id, name, mark }
}

/** The coding agents there are, in the order of agentclient/hook. */
export const codingAgents = (): CodingAgent[] => Object.keys(known).map(codingAgent)
