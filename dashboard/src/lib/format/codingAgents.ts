// The coding agents with an adapter, under the ids of agentclient/hook. Events contain
// the id of their agent.

export interface CodingAgent {
  id: string
  name: string
  /** Two letters that replace an icon, always shown with the name. */
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

/** The coding agent with this id. An unknown id is its own name. */
export function codingAgent(id: string): CodingAgent {
  const [name, mark] = (Object.hasOwn(known, id) ? known[id] : undefined) ?? [id, '']
  return { id, name, mark }
}

/** All coding agents, in the order of agentclient/hook. */
export const codingAgents = (): CodingAgent[] => Object.keys(known).map(codingAgent)
