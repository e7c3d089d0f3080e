package digest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestParse_RecordedHookPayloads parses the unmodified input of agents' hooks as payloads.
func TestParse_RecordedHookPayloads(t *testing.T) {
	t.Parallel()
	for _, c := range hookSamples {
		got := Parse(newEvent(c.typ, c.payload))
		require.Equal(t, bytes.Contains([]byte(c.payload), []byte(`"tool_input"`)), got.InputHash != 0, "%s %s", c.agent, c.typ)
		got.InputHash = 0 // a hash; see TestFindCall_MatchesArguments
		require.Equal(t, expectedFacts(c.want), got, "%s %s", c.agent, c.typ)
	}
}

var hookSamples = []struct {
	agent, typ, payload string
	want                func(*EventFacts)
}{
	{
		"claude", "SessionStart",
		`{
				"session_id": "4b7293f1-045d-4243-b67b-44100f6e03a7",
				"transcript_path": "/home/dev/.claude/projects/-home-dev-shop-api/4b7293f1-045d-4243-b67b-44100f6e03a7.jsonl",
				"cwd": "/home/dev/shop-api",
				"hook_event_name": "SessionStart",
				"source": "startup",
				"model": "claude-sonnet-5"
			}`,
		func(f *EventFacts) {
			f.Model, f.Cwd = "claude-sonnet-5", "/home/dev/shop-api"
		},
	},
	{
		"claude", "UserPromptSubmit",
		`{
				"session_id": "4b7293f1-045d-4243-b67b-44100f6e03a7",
				"transcript_path": "/home/dev/.claude/projects/-home-dev-shop-api/4b7293f1-045d-4243-b67b-44100f6e03a7.jsonl",
				"cwd": "/home/dev/shop-api",
				"prompt_id": "34a7af26-f073-4ea4-896e-d8d086a1e665",
				"permission_mode": "default",
				"hook_event_name": "UserPromptSubmit",
				"prompt": "Drop the old orders table and run the migration on staging\n"
			}`,
		func(f *EventFacts) {
			f.Kind, f.Cwd = Prompt, "/home/dev/shop-api"
			f.Prompt = "Drop the old orders table and run the migration on staging"
		},
	},
	{
		"claude", "PreToolUse",
		`{
				"session_id": "4b7293f1-045d-4243-b67b-44100f6e03a7",
				"transcript_path": "/home/dev/.claude/projects/-home-dev-shop-api/4b7293f1-045d-4243-b67b-44100f6e03a7.jsonl",
				"cwd": "/home/dev/shop-api",
				"prompt_id": "34a7af26-f073-4ea4-896e-d8d086a1e665",
				"permission_mode": "default",
				"effort": {
					"level": "high"
				},
				"agent_id": "a4d2c8f1e0b3a297",
				"agent_type": "Explore",
				"hook_event_name": "PreToolUse",
				"tool_name": "Grep",
				"tool_input": {
					"pattern": "func Handle.*Order",
					"path": "/home/dev/shop-api",
					"output_mode": "files_with_matches"
				},
				"tool_use_id": "toolu_01Dk8Uo4pYs6Mt1vXf3HjKnG"
			}`,
		func(f *EventFacts) {
			f.Kind, f.Cwd = ToolStart, "/home/dev/shop-api"
			f.Tool, f.UseID, f.Agent, f.AgentType = "Grep", "toolu_01Dk8Uo4pYs6Mt1vXf3HjKnG", "a4d2c8f1e0b3a297", "Explore"
		},
	},
	{
		"claude", "PermissionRequest",
		`{
				"session_id": "4b7293f1-045d-4243-b67b-44100f6e03a7",
				"transcript_path": "/home/dev/.claude/projects/-home-dev-shop-api/4b7293f1-045d-4243-b67b-44100f6e03a7.jsonl",
				"cwd": "/home/dev/shop-api",
				"prompt_id": "34a7af26-f073-4ea4-896e-d8d086a1e665",
				"permission_mode": "default",
				"effort": {
					"level": "high"
				},
				"hook_event_name": "PermissionRequest",
				"tool_name": "Bash",
				"tool_input": {
					"command": "psql \"$STAGING_URL\" -c 'DROP TABLE orders_old'",
					"description": "Drop old orders table on staging"
				},
				"permission_suggestions": [
					{
						"type": "addRules",
						"rules": [
							{
								"toolName": "Bash",
								"ruleContent": "psql:*"
							}
						],
						"behavior": "allow",
						"destination": "localSettings"
					},
					{
						"type": "setMode",
						"mode": "acceptEdits",
						"destination": "session"
					}
				]
			}`,
		func(f *EventFacts) {
			f.Tool, f.Cwd = "Bash", "/home/dev/shop-api"
		},
	},
	{
		"claude", "PostToolUse",
		`{
				"session_id": "4b7293f1-045d-4243-b67b-44100f6e03a7",
				"transcript_path": "/home/dev/.claude/projects/-home-dev-shop-api/4b7293f1-045d-4243-b67b-44100f6e03a7.jsonl",
				"cwd": "/home/dev/shop-api",
				"prompt_id": "34a7af26-f073-4ea4-896e-d8d086a1e665",
				"permission_mode": "default",
				"effort": {
					"level": "high"
				},
				"hook_event_name": "PostToolUse",
				"tool_name": "Bash",
				"tool_input": {
					"command": "go test ./...",
					"description": "Run tests"
				},
				"tool_response": {
					"stdout": "ok  \tshop-api/order\t0.412s",
					"stderr": "",
					"interrupted": false,
					"isImage": false,
					"noOutputExpected": false
				},
				"tool_use_id": "toolu_01Fm9Wq5rZt8Nv3xYg6KlMpH",
				"duration_ms": 2418
			}`,
		func(f *EventFacts) {
			f.Kind, f.Cwd = ToolEnd, "/home/dev/shop-api"
			f.Tool, f.UseID, f.DurationMS = "Bash", "toolu_01Fm9Wq5rZt8Nv3xYg6KlMpH", 2418
		},
	},
	{
		"claude", "PostToolUseFailure",
		`{
				"session_id": "4b7293f1-045d-4243-b67b-44100f6e03a7",
				"transcript_path": "/home/dev/.claude/projects/-home-dev-shop-api/4b7293f1-045d-4243-b67b-44100f6e03a7.jsonl",
				"cwd": "/home/dev/shop-api",
				"prompt_id": "34a7af26-f073-4ea4-896e-d8d086a1e665",
				"permission_mode": "default",
				"effort": {
					"level": "high"
				},
				"hook_event_name": "PostToolUseFailure",
				"tool_name": "Bash",
				"tool_input": {
					"command": "npm test",
					"description": "Run test suite"
				},
				"tool_use_id": "toolu_01Hn1Xr6sAu9Pw4zZh7LmNqJ",
				"error": "Exit code 1\nError: Cannot find module 'express'",
				"is_interrupt": false,
				"duration_ms": 4187
			}`,
		func(f *EventFacts) {
			f.Kind, f.Cwd = ToolEnd, "/home/dev/shop-api"
			f.Tool, f.UseID, f.DurationMS = "Bash", "toolu_01Hn1Xr6sAu9Pw4zZh7LmNqJ", 4187
			f.Failed, f.Error = true, "Exit code 1 Error: Cannot find module 'express'"
		},
	},
	{
		"claude", "Stop",
		`{
				"session_id": "4b7293f1-045d-4243-b67b-44100f6e03a7",
				"transcript_path": "/home/dev/.claude/projects/-home-dev-shop-api/4b7293f1-045d-4243-b67b-44100f6e03a7.jsonl",
				"cwd": "/home/dev/shop-api",
				"prompt_id": "34a7af26-f073-4ea4-896e-d8d086a1e665",
				"permission_mode": "default",
				"effort": {
					"level": "high"
				},
				"hook_event_name": "Stop",
				"stop_hook_active": false,
				"last_assistant_message": "The staging migration is done; all tests pass.",
				"background_tasks": [
					{
						"id": "task-001",
						"type": "shell",
						"status": "running",
						"description": "tail logs",
						"command": "tail -f app.log"
					}
				],
				"session_crons": []
			}`,
		func(f *EventFacts) {
			f.Cwd = "/home/dev/shop-api"
		},
	},
	{
		"claude", "SubagentStop",
		`{
				"session_id": "4b7293f1-045d-4243-b67b-44100f6e03a7",
				"transcript_path": "/home/dev/.claude/projects/-home-dev-shop-api/4b7293f1-045d-4243-b67b-44100f6e03a7.jsonl",
				"cwd": "/home/dev/shop-api",
				"prompt_id": "34a7af26-f073-4ea4-896e-d8d086a1e665",
				"permission_mode": "default",
				"effort": {
					"level": "high"
				},
				"hook_event_name": "SubagentStop",
				"stop_hook_active": false,
				"agent_id": "a4d2c8f1e0b3a297",
				"agent_type": "Explore",
				"agent_transcript_path": "/home/dev/.claude/projects/-home-dev-shop-api/4b7293f1-045d-4243-b67b-44100f6e03a7/subagents/agent-a4d2c8f1e0b3a297.jsonl",
				"last_assistant_message": "Found 3 handlers that still read orders_old.",
				"background_tasks": [],
				"session_crons": []
			}`,
		func(f *EventFacts) {
			f.Kind, f.Cwd, f.Agent, f.AgentType = AgentEnd, "/home/dev/shop-api", "a4d2c8f1e0b3a297", "Explore"
		},
	},
	{
		"claude", "SessionEnd",
		`{
				"session_id": "4b7293f1-045d-4243-b67b-44100f6e03a7",
				"transcript_path": "/home/dev/.claude/projects/-home-dev-shop-api/4b7293f1-045d-4243-b67b-44100f6e03a7.jsonl",
				"cwd": "/home/dev/shop-api",
				"prompt_id": "34a7af26-f073-4ea4-896e-d8d086a1e665",
				"hook_event_name": "SessionEnd",
				"reason": "prompt_input_exit"
			}`,
		func(f *EventFacts) {
			f.Kind, f.Cwd = SessionEnd, "/home/dev/shop-api"
		},
	},
	{
		"codex", "PreToolUse",
		`{
				"session_id": "01a1fb80-5fa8-7ed2-b95f-a8aa569f18e2",
				"turn_id": "01a1fb80-5fc4-7b42-ae2f-675a6d4d004f",
				"transcript_path": "/home/dev/.codex/sessions/2026/11/20/rollout-2026-11-20T09-27-36-01a1fb80-5fa8-7ed2-b95f-a8aa569f18e2.jsonl",
				"cwd": "/home/dev/shop-api",
				"hook_event_name": "PreToolUse",
				"model": "gpt-5.5",
				"permission_mode": "default",
				"tool_name": "Bash",
				"tool_input": {
					"command": "git push origin main"
				},
				"tool_use_id": "call_8Qw2ErTy"
			}`,
		func(f *EventFacts) {
			f.Kind = ToolStart
			f.Tool = "Bash"
			f.UseID = "call_8Qw2ErTy"
			f.Cwd = "/home/dev/shop-api"
			f.Model = "gpt-5.5"
		},
	},
	{
		"codex", "Stop",
		`{
				"session_id": "01a1fb80-5fa8-7ed2-b95f-a8aa569f18e2",
				"turn_id": "01a1fb80-5fc4-7b42-ae2f-675a6d4d004f",
				"transcript_path": "/home/dev/.codex/sessions/2026/11/20/rollout-2026-11-20T09-27-36-01a1fb80-5fa8-7ed2-b95f-a8aa569f18e2.jsonl",
				"cwd": "/home/dev/shop-api",
				"hook_event_name": "Stop",
				"model": "gpt-5.5",
				"permission_mode": "default",
				"stop_hook_active": false,
				"last_assistant_message": "Release commit pushed."
			}`,
		func(f *EventFacts) {
			f.Model, f.Cwd = "gpt-5.5", "/home/dev/shop-api"
		},
	},
	{
		"cursor", "preToolUse",
		`{
				"conversation_id": "5b0d6c1e-8a4f-4f1e-9d8e-2b7f1c3a9e10",
				"generation_id": "f2a9c0d4-1b7e-4c55-a0e2-6d3b8e71c4aa",
				"model": "claude-opus-5-thinking-high",
				"model_id": "claude-opus-5",
				"model_params": [
					{
						"id": "thinking",
						"value": "true"
					},
					{
						"id": "effort",
						"value": "high"
					}
				],
				"tool_name": "Shell",
				"tool_input": {
					"command": "npm install",
					"working_directory": "/home/dev/shop-api"
				},
				"tool_use_id": "call_9QxAbCd\nctc_71bEf",
				"cwd": "/home/dev/shop-api",
				"agent_message": "Installing dependencies...",
				"hook_event_name": "preToolUse",
				"session_id": "5b0d6c1e-8a4f-4f1e-9d8e-2b7f1c3a9e10",
				"cursor_version": "3.4.2",
				"workspace_roots": [
					"/home/dev/shop-api"
				],
				"user_email": "dev@example.com",
				"transcript_path": "/home/dev/.cursor/projects/home-dev-shop-api/agent-transcripts/5b0d6c1e-8a4f-4f1e-9d8e-2b7f1c3a9e10.jsonl"
			}`,
		func(f *EventFacts) {
			f.Kind, f.Cwd, f.Model = ToolStart, "/home/dev/shop-api", "claude-opus-5-thinking-high"
			f.Tool, f.UseID = "Shell", "call_9QxAbCd\nctc_71bEf"
		},
	},
	{
		"copilot", "preToolUse",
		`{
				"sessionId": "7c1f2a90-4d1e-4a34-9f0b-6a2b1c3d4e5f",
				"timestamp": 1795167262135,
				"cwd": "/home/dev/shop-api",
				"toolName": "bash",
				"toolArgs": {
					"command": "terraform apply -auto-approve",
					"description": "Apply infra"
				}
			}`,
		func(f *EventFacts) {
			f.Kind, f.Tool, f.Cwd = ToolStart, "bash", "/home/dev/shop-api"
		},
	},
	{
		"gemini", "BeforeTool",
		`{
				"session_id": "530e0458-6a36-43a7-b3f1-4e4cb3d3a3bc",
				"transcript_path": "/home/dev/.gemini/tmp/shop-api/chats/session-2026-11-20T09-34-530e0458.jsonl",
				"cwd": "/home/dev/shop-api",
				"hook_event_name": "BeforeTool",
				"timestamp": "2026-11-20T09:34:22.135Z",
				"tool_name": "run_shell_command",
				"tool_input": {
					"command": "rm -rf build",
					"description": "Clean build output"
				}
			}`,
		func(f *EventFacts) {
			f.Kind, f.Tool, f.Cwd = ToolStart, "run_shell_command", "/home/dev/shop-api"
		},
	},
	{
		"qwen", "PreToolUse",
		`{
				"session_id": "q-3d0c7b52",
				"transcript_path": "/home/dev/.qwen/projects/shop-api/chats/q-3d0c7b52.jsonl",
				"cwd": "/home/dev/shop-api",
				"hook_event_name": "PreToolUse",
				"timestamp": "2026-11-20T09:34:22.135Z",
				"permission_mode": "default",
				"tool_name": "run_shell_command",
				"tool_input": {
					"command": "git reset --hard HEAD~3"
				},
				"tool_use_id": "toolu_q_0007",
				"tool_call_id": "call_ab12cd34"
			}`,
		func(f *EventFacts) {
			f.Kind = ToolStart
			f.Tool = "run_shell_command"
			f.UseID = "toolu_q_0007"
			f.Cwd = "/home/dev/shop-api"
		},
	},
	{
		"droid", "PreToolUse",
		`{
				"session_id": "d-00893aaf",
				"transcript_path": "/home/dev/.factory/projects/shop-api/d-00893aaf.jsonl",
				"cwd": "/home/dev/shop-api",
				"permission_mode": "auto-low",
				"hook_event_name": "PreToolUse",
				"tool_name": "Execute",
				"tool_input": {
					"command": "helm upgrade shop ./chart"
				}
			}`,
		func(f *EventFacts) {
			f.Kind = ToolStart
			f.Tool = "Execute"
			f.Cwd = "/home/dev/shop-api"
		},
	},
}
