package install

// wiring says how one agent's settings call a hook. It is data: what differs from
// agent to agent stands in a table, what is the same in the code.
type wiring struct {
	agent string // as in hook.Agents
	title string
	// found are the directories and programs that tell that the agent is here.
	found    []place
	programs []string
	// files are the settings by scope; an agent that has no such scope lacks it.
	files map[Scope]place
	root  []string // where the events are in the file
	// version is what the file must say at its root, 0: nothing.
	version int
	form    form
	on      []event
	notes   []note
	// whole makes a file that is ours alone, one for each event, named like it; the
	// scope's place is then their directory. nil: entries are added to settings.
	whole func(c call, e event) string
	// oldest is the first version that knows how this is written.
	oldest string
}

// place is a path: relative to a directory that a variable names, else to one below
// the home; or, without both, to the project.
type place struct {
	variable, home string
	path           string
}

// form is how an agent writes one handler.
type form struct {
	nested  bool   // {"matcher": …, "hooks": [handler]}
	all     string // the matcher that means every tool; "": none is needed
	typed   bool   // "type": "command"
	named   bool   // "name": "hookback"
	exec    string // the member that holds a program whose "args" follow; "": a shell runs "command"
	shell   string // the member that holds a shell's command line
	closed  bool   // a program that can't be started is a no: a shell looks first
	timeout string // the member's name; "": the agent has none
	unit    int    // of the timeout, in a second
	async   bool   // knows "async"
	status  bool   // knows "statusMessage"
	event   bool   // doesn't say on stdin which event it is
	quiet   bool   // "show_output": false
	slashes bool   // no string may hold two slashes
}

// event is one event that is heard.
type event struct {
	name    string
	matcher string
	does    does
	seconds int  // the agent's timeout for this hook; 0: as does says
	inOrder bool // never async: the agent may end before it has run
	flat    bool // not nested, whatever the form says
	since   string
}

// does says what a hook may do at an event in gate mode.
type does int

const (
	tells does = iota // nothing: it is sent
	asks              // it may wait for a person
	opens             // it may wait, and the agent's user sees nothing else meanwhile
)

// How long hooks may take. A person has an hour, unless the agent shows nothing but
// its status line while its hook waits.
const (
	briefSeconds = 10
	waitSeconds  = 3600
	openSeconds  = 120
)

// note is what a person has to do or know after an installation.
type note struct {
	scope Scope // "": every
	text  string
}

var wirings = []wiring{
	{
		agent: "claude-code", title: "Claude Code",
		found: []place{claudeDir("")}, programs: []string{"claude"},
		files: map[Scope]place{
			User: claudeDir("settings.json"), Project: {path: ".claude/settings.json"}, Local: {path: ".claude/settings.local.json"},
		},
		root: []string{"hooks"},
		form: form{nested: true, typed: true, exec: "command", shell: "command", timeout: "timeout", unit: 1, async: true, status: true},
		// WorktreeCreate is not here: its hook replaces what Claude Code would do.
		// Nor is MessageDisplay, whose hooks hold up every line that is shown.
		on: []event{
			{name: "SessionStart", inOrder: true}, {name: "SessionEnd", seconds: 5, inOrder: true},
			{name: "UserPromptSubmit"},
			{name: "PreToolUse", does: asks}, {name: "PermissionRequest", does: asks},
			{name: "PostToolUse"}, {name: "PostToolUseFailure"},
			{name: "Notification"},
			{name: "SubagentStart"}, {name: "SubagentStop"},
			{name: "Stop", inOrder: true},
			{name: "PreCompact"},
			{name: "Setup", since: "2.1.139"},
			{name: "UserPromptExpansion", since: "2.1.240"},
			{name: "PermissionDenied", since: "2.1.139"},
			{name: "PostToolBatch", since: "2.1.240"},
			{name: "TaskCreated", since: "2.1.139"}, {name: "TaskCompleted", since: "2.1.139"},
			{name: "TeammateIdle", since: "2.1.139"},
			{name: "StopFailure", since: "2.1.139", inOrder: true},
			{name: "PostCompact", since: "2.1.139"},
			{name: "Elicitation", since: "2.1.139", does: opens}, {name: "ElicitationResult", since: "2.1.139"},
			{name: "ConfigChange", since: "2.1.139"},
			{name: "CwdChanged", since: "2.1.139"}, {name: "DirectoryAdded", since: "2.1.240"},
			{name: "FileChanged", since: "2.1.139"}, {name: "InstructionsLoaded", since: "2.1.139"},
			{name: "WorktreeRemove", since: "2.1.139"},
		},
		oldest: "2.1.139", // "args" beside "command"
		notes: []note{
			{Project, "Claude Code runs the hooks of a folder only once its user trusts the folder"},
			{Local, "Claude Code runs the hooks of a folder only once its user trusts the folder"},
		},
	},
	{
		agent: "codex", title: "Codex CLI",
		found: []place{codexDir("")}, programs: []string{"codex"},
		files: map[Scope]place{User: codexDir("hooks.json"), Project: {path: ".codex/hooks.json"}},
		root:  []string{"hooks"},
		form:  form{nested: true, typed: true, shell: "command", timeout: "timeout", unit: 1, async: true, status: true},
		on: []event{
			{name: "SessionStart", inOrder: true}, {name: "SessionEnd", seconds: 3, inOrder: true},
			{name: "UserPromptSubmit"},
			{name: "PreToolUse", does: opens}, {name: "PermissionRequest", does: opens}, {name: "PostToolUse"},
			{name: "SubagentStart"}, {name: "SubagentStop"},
			{name: "PreCompact"}, {name: "PostCompact"},
			{name: "Stop", inOrder: true}, {name: "Interrupt", seconds: 3, inOrder: true},
		},
		notes: []note{{"", "Codex runs new or changed hooks only once they are trusted: open /hooks in Codex and trust them"}},
	},
	{
		agent: "gemini", title: "Gemini CLI",
		found: []place{{home: ".gemini", path: "settings.json"}}, programs: []string{"gemini"},
		files: map[Scope]place{User: {home: ".gemini", path: "settings.json"}, Project: {path: ".gemini/settings.json"}},
		root:  []string{"hooks"},
		form:  form{nested: true, all: "*", typed: true, named: true, shell: "command", timeout: "timeout", unit: 1000},
		// BeforeModel, AfterModel and BeforeToolSelection are not here: they run for
		// every piece of an answer.
		on: []event{
			{name: "SessionStart"}, {name: "SessionEnd"},
			{name: "BeforeAgent"}, {name: "AfterAgent"},
			{name: "BeforeTool", does: asks}, {name: "AfterTool"},
			{name: "PreCompress"}, {name: "Notification"},
		},
		notes: []note{
			{"", "Gemini CLI also asks in its own way for what it would ask for anyway; a yes in Hookback can't answer that"},
			{Project, "Gemini CLI warns of a project's hooks once, and again when they change"},
		},
	},
	{
		agent: "cursor", title: "Cursor",
		found: []place{{home: ".cursor"}}, programs: []string{"cursor", "cursor-agent"},
		files: map[Scope]place{User: {home: ".cursor", path: "hooks.json"}, Project: {path: ".cursor/hooks.json"}},
		root:  []string{"hooks"}, version: 1,
		form: form{shell: "command", timeout: "timeout", unit: 1, slashes: true},
		// An event that Cursor doesn't know makes it reject the whole file. Shell and MCP
		// calls have events of their own, whose "ask" Cursor keeps to; preToolUse would run
		// for them too.
		on: []event{
			{name: "sessionStart"}, {name: "sessionEnd"}, {name: "beforeSubmitPrompt"},
			{name: "beforeShellExecution", does: asks}, {name: "afterShellExecution"},
			{name: "beforeMCPExecution", does: asks}, {name: "afterMCPExecution"},
			{name: "preToolUse", matcher: "Read|Write|Delete|Grep|Task", does: asks},
			{name: "postToolUse", matcher: "Read|Write|Delete|Grep|Task"},
			{name: "postToolUseFailure"},
			{name: "subagentStart"}, {name: "subagentStop"},
			{name: "preCompact"}, {name: "stop"},
		},
	},
	{
		agent: "copilot", title: "GitHub Copilot CLI",
		found: []place{{variable: "COPILOT_HOME", home: ".copilot"}}, programs: []string{"copilot"},
		files: map[Scope]place{
			User: {variable: "COPILOT_HOME", home: ".copilot", path: "hooks/hookback.json"}, Project: {path: ".github/hooks/hookback.json"},
		},
		root: []string{"hooks"}, version: 1,
		form: form{typed: true, exec: "exec", shell: "bash", closed: true, timeout: "timeoutSec", unit: 1, event: true},
		on: []event{
			{name: "SessionStart"}, {name: "SessionEnd"}, {name: "UserPromptSubmit"},
			// PermissionRequest is not here: it runs for the calls that PreToolUse has gated,
			// and would ask a second time.
			{name: "PreToolUse", does: asks},
			{name: "PostToolUse"}, {name: "PostToolUseFailure"},
			{name: "SubagentStart"}, {name: "SubagentStop"},
			{name: "PreCompact"}, {name: "Notification"}, {name: "Stop"}, {name: "ErrorOccurred"},
		},
		notes: []note{{Project, "Copilot's cloud agent runs these hooks too; it has no hookback, and goes on without"}},
	},
	{
		agent: "qwen", title: "Qwen Code",
		found: []place{{home: ".qwen"}}, programs: []string{"qwen"},
		files: map[Scope]place{User: {home: ".qwen", path: "settings.json"}, Project: {path: ".qwen/settings.json"}},
		root:  []string{"hooks"},
		// Qwen Code counts in seconds since 2026, but takes 1,000 and more for the
		// milliseconds that they were before: these are understood by both.
		form: form{nested: true, typed: true, named: true, shell: "command", timeout: "timeout", unit: 1000},
		on: []event{
			{name: "SessionStart"}, {name: "SessionEnd"}, {name: "UserPromptSubmit"},
			{name: "PreToolUse", does: asks}, {name: "PermissionRequest", does: opens},
			{name: "PostToolUse"}, {name: "PostToolUseFailure"}, {name: "Notification"},
			{name: "SubagentStart"}, {name: "SubagentStop"}, {name: "PreCompact"}, {name: "Stop"},
		},
	},
	{
		agent: "droid", title: "Factory Droid",
		found: []place{{home: ".factory"}}, programs: []string{"droid"},
		files: map[Scope]place{User: {home: ".factory", path: "hooks.json"}, Project: {path: ".factory/hooks.json"}},
		root:  []string{"hooks"},
		form:  form{nested: true, all: "*", typed: true, shell: "command", timeout: "timeout", unit: 1},
		on: []event{
			{name: "SessionStart"}, {name: "SessionEnd"}, {name: "UserPromptSubmit"},
			{name: "PreToolUse", does: asks}, {name: "PostToolUse"}, {name: "Notification"},
			{name: "SubagentStop"}, {name: "PreCompact"}, {name: "Stop"},
		},
		notes: []note{{"", "Droid reads its hooks when it starts, and asks to review changed ones in /hooks"}},
	},
	{
		agent: "crush", title: "Crush",
		found: []place{{variable: "XDG_CONFIG_HOME", home: ".config", path: "crush"}}, programs: []string{"crush"},
		files: map[Scope]place{
			User: {variable: "XDG_CONFIG_HOME", home: ".config", path: "crush/crush.json"}, Project: {path: "crush.json"},
		},
		root: []string{"hooks"},
		form: form{named: true, shell: "command", timeout: "timeout", unit: 1},
		on:   []event{{name: "PreToolUse", does: asks}},
	},
	{
		agent: "windsurf", title: "Windsurf",
		found: []place{{home: ".codeium/windsurf"}}, programs: []string{"windsurf"},
		files: map[Scope]place{User: {home: ".codeium/windsurf", path: "hooks.json"}, Project: {path: ".windsurf/hooks.json"}},
		root:  []string{"hooks"},
		form:  form{shell: "command", quiet: true},
		on: []event{
			{name: "pre_user_prompt"},
			{name: "pre_read_code", does: opens}, {name: "post_read_code"},
			{name: "pre_write_code", does: opens}, {name: "post_write_code"},
			{name: "pre_run_command", does: opens}, {name: "post_run_command"},
			{name: "pre_mcp_tool_use", does: opens}, {name: "post_mcp_tool_use"},
			{name: "post_cascade_response"},
		},
	},
	{
		agent: "antigravity", title: "Antigravity",
		found: []place{{home: ".gemini/config"}, {home: ".gemini/antigravity"}}, programs: []string{"agy", "antigravity"},
		files: map[Scope]place{User: {home: ".gemini/config", path: "hooks.json"}, Project: {path: ".agents/hooks.json"}},
		root:  []string{"hookback"}, // hooks are grouped under names of their owner's
		form:  form{nested: true, all: "*", typed: true, shell: "command", timeout: "timeout", unit: 1, event: true},
		on: []event{
			{name: "PreToolUse", does: asks}, {name: "PostToolUse"},
			{name: "PreInvocation", flat: true}, {name: "Stop", flat: true},
		},
	},
	{
		agent: "kiro", title: "Kiro CLI",
		found: []place{{home: ".kiro"}}, programs: []string{"kiro-cli"},
		files: map[Scope]place{User: {home: ".kiro/agents", path: "*.json"}, Project: {path: ".kiro/agents/*.json"}},
		root:  []string{"hooks"},
		form:  form{shell: "command", timeout: "timeout_ms", unit: 1000},
		on: []event{
			{name: "agentSpawn"}, {name: "userPromptSubmit"},
			{name: "preToolUse", matcher: "*", does: asks}, {name: "postToolUse", matcher: "*"}, {name: "stop"},
		},
		notes: []note{{"", "Kiro's hooks belong to its custom agents; agents made later need another hookback install"}},
	},
	{
		agent: "opencode", title: "OpenCode",
		found: []place{{variable: "XDG_CONFIG_HOME", home: ".config", path: "opencode"}}, programs: []string{"opencode"},
		files: map[Scope]place{
			User: {variable: "XDG_CONFIG_HOME", home: ".config", path: "opencode/plugin"}, Project: {path: ".opencode/plugin"},
		},
		whole: opencodePlugin,
		on:    []event{{name: "hookback.js", does: asks}},
		notes: []note{{"", "OpenCode loads its plugins when it starts"}},
	},
	{
		agent: "cline", title: "Cline",
		found: []place{{home: "Documents/Cline"}},
		files: map[Scope]place{User: {home: "Documents/Cline", path: "Hooks"}, Project: {path: ".clinerules/hooks"}},
		whole: clineHook,
		// Cline lets a hook run for 30 seconds, and its settings can't change that.
		on: []event{
			{name: "TaskStart"}, {name: "TaskResume"}, {name: "TaskCancel"}, {name: "TaskComplete"}, {name: "UserPromptSubmit"},
			{name: "PreToolUse", does: asks, seconds: 30}, {name: "PostToolUse"}, {name: "PreCompact"},
		},
		notes: []note{{"", "Cline runs hooks once they are enabled in its settings (Features, Enable Hooks)"}},
	},
}

func claudeDir(path string) place {
	return place{variable: "CLAUDE_CONFIG_DIR", home: ".claude", path: path}
}

func codexDir(path string) place { return place{variable: "CODEX_HOME", home: ".codex", path: path} }
