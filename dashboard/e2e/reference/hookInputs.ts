/** An input of each hook event that the reference's script knows, in the form of the agent. */
export const hookInputs: Record<string, Record<string, unknown>> = {
  SessionStart: { source: 'startup', agent_type: 'main', model: 'claude-haiku-4-5-20251001' },
  UserPromptSubmit: { prompt: 'Ship the release' },
  PreToolUse: { tool_name: 'Bash', tool_use_id: 'toolu_1', tool_input: { command: 'make test' } },
  PermissionRequest: {
    tool_name: 'Bash',
    tool_input: { command: 'make deploy' },
    permission_suggestions: [{ type: 'toolAlwaysAllow', tool: 'Bash' }],
  },
  PostToolUse: {
    tool_name: 'Bash',
    tool_use_id: 'toolu_1',
    tool_input: { command: 'make test' },
    tool_response: { stdout: 'ok', stderr: '', interrupted: false },
  },
  PostToolUseFailure: {
    tool_name: 'Bash',
    tool_use_id: 'toolu_2',
    tool_input: { command: 'make lint' },
    error: 'exit status 1',
    is_interrupt: false,
  },
  Notification: { notification_type: 'permission_prompt', message: 'A permission is needed' },
  SubagentStart: { agent_id: 'agent-1', agent_type: 'Explore' },
  SubagentStop: {
    agent_id: 'agent-1',
    agent_type: 'Explore',
    agent_transcript_path: '/tmp/agent-1.jsonl',
    stop_hook_active: false,
  },
  PreCompact: { trigger: 'manual', custom_instructions: 'Keep the open tasks' },
  Stop: { stop_hook_active: false },
  SessionEnd: { reason: 'exit' },
}
