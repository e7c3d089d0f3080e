// Generated from agentclient/install/proven.json. Do not edit.

/** The last version of each agent, by its id, whose tests with the real program passed. Others follow their documentation. */
export const provenVersions: Readonly<Record<string, string>> = {
  'claude-code': '2.1.332',
  codex: '0.171.0',
  opencode: '1.18.34',
  copilot: '1.0.102',
  qwen: '0.24.4',
  droid: '0.215.0',
  gemini: '0.61.0',
  cline: '3.0.65',
}
