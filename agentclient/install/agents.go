package install

// agentConfig describes how one agent's settings run a hook. It is data: the differences
// between agents are in a table, the common behavior is in code.
type agentConfig struct {
	name  string // as in hook.Agents
	title string
	// dirs and programs indicate that the agent is installed.
	dirs     []pathSpec
	programs []string
	// files are the settings by scope, without the scopes that the agent lacks.
	files      map[Scope]pathSpec
	eventsPath []string // path of the events within the file
	// formatVersion is the required version member at the root, 0 for none.
	formatVersion int
	format        handlerFormat
	events        []event
	notes         []agentNote
	// ownedFile generates a file that is entirely ours, one per event and named after it.
	// The scope's path is then their directory. If nil, entries are added to settings.
	ownedFile func(c hookCommand, e event) string
	// minVersion is the first version of the agent that supports this format.
	minVersion string
	// otherFiles also decide whether hooks run, in addition to files and disableSettings. A final slash
	// marks a directory. A hub reports changes to all of them: package oversight has a copy of the list,
	// which a test compares.
	otherFiles []pathSpec
}

// pathSpec is a path relative to the directory in an environment variable, or else to
// home below the home directory, or else to the project.
type pathSpec struct {
	variable, home string
	path           string
}

// handlerFormat is an agent's format of one handler.
type handlerFormat struct {
	nested      bool   // {"matcher": …, "hooks": [handler]}
	matchAll    string // the matcher for every tool, "" if none is needed
	hasType     bool   // "type": "command"
	hasName     bool   // "name": "hookback"
	execMember  string // the member for a program with "args", "" if a shell is required
	shellMember string // the member for a shell's command line
	failsClosed bool   // a missing program is a denial, so a shell checks for it first, except in mode Enforce
	// enforceMember is the member, with its value, that makes a failing hook block the call;
	// "" if there is none. It is for the events in enforceEvents, or for all that gate.
	enforceMember    string
	enforceValue     any
	enforceEvents    []string
	enforceVersion   string // the first version of the agent with that member
	timeoutMember    string // the member for the timeout, "" if the agent has none
	timeoutUnit      int    // timeout units per second
	hasAsync         bool   // supports "async"
	hasStatusMessage bool   // supports "statusMessage"
	needsEventFlag   bool   // stdin lacks the event name
	hidesOutput      bool   // "show_output": false
	forbidsSlashes   bool   // no string may contain two slashes
}

// event is one hook event of an agent.
type event struct {
	name           string
	matcher        string
	mode           hookMode
	timeoutSeconds int  // the timeout for this hook, 0 for the default of mode
	allEvents      bool // one entry for all events of the agent
	fixedTimeout   bool // the adapter derives the agent's timeout from the input
	sync           bool // never async, because the agent may exit before the hook ran
	flat           bool // not nested, regardless of the format
	since          string
	// wake means that the hook waits in the background, and wakes an idle session for a message. It is
	// installed only if Options.Wake is set.
	wake bool
}

// hookMode is the effect of a hook in gate mode.
type hookMode int

const (
	observe hookMode = iota // the event is only sent
	ask                     // the hook may wait for a person
	block                   // the hook may wait, and the agent's user sees nothing else until it ends
)

// Default timeouts of hooks. A person has an hour to answer, unless the agent shows only
// its status line while the hook waits.
const (
	observeSeconds = 10
	askSeconds     = 3600
	blockSeconds   = 120
	wakeSeconds    = 24 * 3600
)

// agentNote is a message for the user after an installation.
type agentNote struct {
	scope Scope // "" for every scope
	text  string
}

var agentConfigs = []agentConfig{
	{
		name: "claude-code", title: "Claude Code",
		dirs: []pathSpec{claudePath("")}, programs: []string{"claude"},
		otherFiles: []pathSpec{claudePath("plugins/"), {path: "managed-settings.json"}},
		files: map[Scope]pathSpec{
			User: claudePath("settings.json"), Project: {path: ".claude/settings.json"}, Local: {path: ".claude/settings.local.json"},
		},
		eventsPath: []string{"hooks"},
		format: handlerFormat{nested: true, hasType: true, execMember: "command", shellMember: "command", timeoutMember: "timeout", timeoutUnit: 1, hasAsync: true, hasStatusMessage: true,
			// On PermissionRequest, it would remove the dialog.
			enforceMember: "onFailure", enforceValue: "block", enforceEvents: []string{"PreToolUse", "PreSkillShellCommand"}, enforceVersion: "2.1.295"},
		// WorktreeCreate is omitted because its hook replaces Claude Code's behavior, and
		// MessageDisplay because its hooks delay every line of output.
		events: []event{
			{name: "SessionStart", sync: true}, {name: "SessionEnd", timeoutSeconds: 5, sync: true},
			{name: "UserPromptSubmit", sync: true},
			{name: "PreToolUse", mode: ask}, {name: "PermissionRequest", mode: ask},
			{name: "PreSkillShellCommand", since: "2.1.331", mode: ask},
			{name: "PostToolUse"}, {name: "PostToolUseFailure"},
			{name: "Notification"},
			{name: "SubagentStart"}, {name: "SubagentStop"},
			{name: "Stop", sync: true},
			{name: "PreCompact"},
			{name: "Setup", since: "2.1.139"},
			{name: "UserPromptExpansion", since: "2.1.240"},
			{name: "PermissionDenied", since: "2.1.139", mode: ask},
			{name: "TaskCreated", since: "2.1.139"}, {name: "TaskCompleted", since: "2.1.139"},
			{name: "TeammateIdle", since: "2.1.139"},
			{name: "StopFailure", since: "2.1.139", sync: true},
			{name: "PostCompact", since: "2.1.139"},
			{name: "Elicitation", since: "2.1.139", mode: block}, {name: "ElicitationResult", since: "2.1.139"},
			{name: "ConfigChange", since: "2.1.139"},
			{name: "CwdChanged", since: "2.1.139"}, {name: "DirectoryAdded", since: "2.1.240"},
			{name: "FileChanged", since: "2.1.139"}, {name: "InstructionsLoaded", since: "2.1.139"},
			{name: "WorktreeRemove", since: "2.1.139"},
			{name: "Stop", wake: true, since: "2.1.139"}, {name: "SessionStart", wake: true, since: "2.1.139"},
		},
		minVersion: "2.1.139", // supports "args" in addition to "command"
		notes: []agentNote{
			{Project, "Claude Code runs the hooks of a folder only after its user trusts the folder"},
			{Local, "Claude Code runs the hooks of a folder only after its user trusts the folder"},
			{"", "Claude Code starts in auto mode: it asks rarely. Calls it refuses become appeals. Run `hookback policy init` to choose calls that always ask"},
		},
	},
	{
		name: "codex", title: "Codex CLI",
		dirs: []pathSpec{codexPath("")}, programs: []string{"codex"},
		otherFiles: []pathSpec{codexPath("config.toml")},
		files:      map[Scope]pathSpec{User: codexPath("hooks.json"), Project: {path: ".codex/hooks.json"}},
		eventsPath: []string{"hooks"},
		format:     handlerFormat{nested: true, hasType: true, shellMember: "command", timeoutMember: "timeout", timeoutUnit: 1, hasAsync: true, hasStatusMessage: true},
		events: []event{
			{name: "SessionStart", sync: true}, {name: "SessionEnd", timeoutSeconds: 3, sync: true},
			{name: "UserPromptSubmit"},
			{name: "PreToolUse", mode: block}, {name: "PermissionRequest", mode: block}, {name: "PostToolUse"},
			{name: "SubagentStart"}, {name: "SubagentStop"},
			{name: "PreCompact"}, {name: "PostCompact"},
			// At the end of a turn, a call that Codex's reviewer refused is appealed.
			{name: "Stop", mode: block, sync: true}, {name: "Interrupt", timeoutSeconds: 3, sync: true},
		},
		notes: []agentNote{{"", "Codex runs new or changed hooks only after they are trusted: open /hooks in Codex and trust them"}},
	},
	{
		name: "gemini", title: "Gemini CLI",
		dirs: []pathSpec{{home: ".gemini", path: "settings.json"}}, programs: []string{"gemini"},
		files:      map[Scope]pathSpec{User: {home: ".gemini", path: "settings.json"}, Project: {path: ".gemini/settings.json"}},
		eventsPath: []string{"hooks"},
		format:     handlerFormat{nested: true, matchAll: "*", hasType: true, hasName: true, shellMember: "command", failsClosed: true, timeoutMember: "timeout", timeoutUnit: 1000},
		// BeforeModel, AfterModel and BeforeToolSelection are omitted because they run for
		// every chunk of an answer.
		events: []event{
			{name: "SessionStart"}, {name: "SessionEnd"},
			{name: "BeforeAgent"}, {name: "AfterAgent"},
			{name: "BeforeTool", mode: ask}, {name: "AfterTool"},
			{name: "PreCompress"}, {name: "Notification"},
		},
		notes: []agentNote{
			{"", "Gemini CLI still shows its own confirmations; an approval in Hookback does not answer them"},
			{Project, "Gemini CLI warns about project hooks once, and again when they change"},
		},
	},
	{
		name: "cursor", title: "Cursor",
		dirs: []pathSpec{{home: ".cursor"}}, programs: []string{"cursor", "cursor-agent"},
		files:      map[Scope]pathSpec{User: {home: ".cursor", path: "hooks.json"}, Project: {path: ".cursor/hooks.json"}},
		eventsPath: []string{"hooks"}, formatVersion: 1,
		format: handlerFormat{shellMember: "command", timeoutMember: "timeout", timeoutUnit: 1, forbidsSlashes: true, enforceMember: "failClosed", enforceValue: true},
		// Cursor rejects a file with an unknown event. Shell and MCP calls have separate
		// events that enforce "ask", so the matcher excludes them from preToolUse.
		events: []event{
			{name: "sessionStart"}, {name: "sessionEnd"}, {name: "beforeSubmitPrompt"},
			{name: "beforeShellExecution", mode: ask}, {name: "afterShellExecution"},
			{name: "beforeMCPExecution", mode: ask}, {name: "afterMCPExecution"},
			{name: "preToolUse", matcher: "Read|Write|Delete|Grep|Task", mode: ask},
			{name: "postToolUse", matcher: "Read|Write|Delete|Grep|Task"},
			{name: "postToolUseFailure"},
			{name: "subagentStart"}, {name: "subagentStop"},
			{name: "preCompact"}, {name: "stop"},
		},
	},
	{
		name: "copilot", title: "GitHub Copilot CLI",
		dirs: []pathSpec{{variable: "COPILOT_HOME", home: ".copilot"}}, programs: []string{"copilot"},
		otherFiles: []pathSpec{{home: ".copilot", path: "hooks/"}, {path: ".github/hooks/"}},
		files: map[Scope]pathSpec{
			User: {variable: "COPILOT_HOME", home: ".copilot", path: "hooks/hookback.json"}, Project: {path: ".github/hooks/hookback.json"},
		},
		eventsPath: []string{"hooks"}, formatVersion: 1,
		format: handlerFormat{hasType: true, execMember: "exec", shellMember: "bash", failsClosed: true, timeoutMember: "timeoutSec", timeoutUnit: 1, needsEventFlag: true},
		events: []event{
			{name: "SessionStart"}, {name: "SessionEnd"}, {name: "UserPromptSubmit"},
			// PermissionRequest is omitted because it runs for calls that PreToolUse has
			// already gated, and would ask again.
			{name: "PreToolUse", mode: ask},
			{name: "PostToolUse"}, {name: "PostToolUseFailure"},
			{name: "SubagentStart"}, {name: "SubagentStop"},
			{name: "PreCompact"}, {name: "Notification"}, {name: "Stop"}, {name: "ErrorOccurred"},
		},
		notes: []agentNote{{Project, "Copilot's cloud agent also reads these hooks; without hookback there, they have no effect"}},
	},
	{
		name: "qwen", title: "Qwen Code",
		dirs: []pathSpec{{home: ".qwen"}}, programs: []string{"qwen"},
		files:      map[Scope]pathSpec{User: {home: ".qwen", path: "settings.json"}, Project: {path: ".qwen/settings.json"}},
		eventsPath: []string{"hooks"},
		// Qwen Code has used seconds since 2026, but still reads values from 1,000 as
		// milliseconds. So milliseconds work in every version.
		format: handlerFormat{nested: true, hasType: true, hasName: true, shellMember: "command", timeoutMember: "timeout", timeoutUnit: 1000},
		events: []event{
			{name: "SessionStart"}, {name: "SessionEnd"}, {name: "UserPromptSubmit"},
			{name: "PreToolUse", mode: ask}, {name: "PermissionRequest", mode: block}, {name: "PermissionDenied", mode: block},
			{name: "PostToolUse"}, {name: "PostToolUseFailure"}, {name: "Notification"},
			{name: "SubagentStart"}, {name: "SubagentStop"}, {name: "PreCompact"}, {name: "Stop"},
		},
	},
	{
		name: "droid", title: "Factory Droid",
		dirs: []pathSpec{{home: ".factory"}}, programs: []string{"droid"},
		files:      map[Scope]pathSpec{User: {home: ".factory", path: "hooks.json"}, Project: {path: ".factory/hooks.json"}},
		eventsPath: nil, // Droid reads "hooks" in settings.json only
		format:     handlerFormat{nested: true, matchAll: "*", hasType: true, shellMember: "command", timeoutMember: "timeout", timeoutUnit: 1},
		events: []event{
			{name: "SessionStart"}, {name: "SessionEnd"}, {name: "UserPromptSubmit"},
			{name: "PreToolUse", mode: ask}, {name: "PostToolUse"}, {name: "Notification"},
			{name: "SubagentStop"}, {name: "PreCompact"}, {name: "Stop"},
		},
		notes: []agentNote{{"", "Droid reads its hooks at startup, and asks you to review changed ones in /hooks"}},
	},
	{
		name: "crush", title: "Crush",
		dirs: []pathSpec{{variable: "XDG_CONFIG_HOME", home: ".config", path: "crush"}}, programs: []string{"crush"},
		otherFiles: []pathSpec{{path: ".crush.json"}},
		files: map[Scope]pathSpec{
			User: {variable: "XDG_CONFIG_HOME", home: ".config", path: "crush/crush.json"}, Project: {path: "crush.json"},
		},
		eventsPath: []string{"hooks"},
		format:     handlerFormat{hasName: true, shellMember: "command", timeoutMember: "timeout", timeoutUnit: 1},
		events:     []event{{name: "PreToolUse", mode: ask}},
	},
	{
		name: "windsurf", title: "Windsurf",
		dirs: []pathSpec{{home: ".codeium/windsurf"}}, programs: []string{"windsurf"},
		otherFiles: []pathSpec{{home: ".codeium", path: "hooks.json"}},
		files:      map[Scope]pathSpec{User: {home: ".codeium/windsurf", path: "hooks.json"}, Project: {path: ".windsurf/hooks.json"}},
		eventsPath: []string{"hooks"},
		format:     handlerFormat{shellMember: "command", hidesOutput: true},
		events: []event{
			{name: "pre_user_prompt"},
			{name: "pre_read_code", mode: block}, {name: "post_read_code"},
			{name: "pre_write_code", mode: block}, {name: "post_write_code"},
			{name: "pre_run_command", mode: block}, {name: "post_run_command"},
			{name: "pre_mcp_tool_use", mode: block}, {name: "post_mcp_tool_use"},
			{name: "post_cascade_response"},
		},
	},
	{
		name: "antigravity", title: "Antigravity",
		dirs: []pathSpec{{home: ".gemini/config"}, {home: ".gemini/antigravity"}}, programs: []string{"agy", "antigravity"},
		files:      map[Scope]pathSpec{User: {home: ".gemini/config", path: "hooks.json"}, Project: {path: ".agents/hooks.json"}},
		eventsPath: []string{"hookback"}, // hooks are grouped by owner
		format:     handlerFormat{nested: true, matchAll: "*", hasType: true, shellMember: "command", timeoutMember: "timeout", timeoutUnit: 1, needsEventFlag: true},
		events: []event{
			{name: "PreToolUse", mode: ask}, {name: "PostToolUse"},
			{name: "PreInvocation", flat: true}, {name: "Stop", flat: true},
		},
	},
	{
		name: "kiro", title: "Kiro CLI",
		dirs: []pathSpec{{home: ".kiro"}}, programs: []string{"kiro-cli"},
		otherFiles: []pathSpec{{path: ".kiro/hooks/"}},
		files:      map[Scope]pathSpec{User: {home: ".kiro/agents", path: "*.json"}, Project: {path: ".kiro/agents/*.json"}},
		eventsPath: []string{"hooks"},
		format:     handlerFormat{shellMember: "command", timeoutMember: "timeout_ms", timeoutUnit: 1000},
		events: []event{
			{name: "agentSpawn"}, {name: "userPromptSubmit"},
			{name: "preToolUse", matcher: "*", mode: ask}, {name: "postToolUse", matcher: "*"}, {name: "stop"},
		},
		notes: []agentNote{{"", "Kiro's hooks belong to its custom agents; run hookback install again after creating agents"}},
	},
	{
		name: "opencode", title: "OpenCode",
		dirs: []pathSpec{{variable: "XDG_CONFIG_HOME", home: ".config", path: "opencode"}}, programs: []string{"opencode", "opencode2"},
		otherFiles: []pathSpec{{variable: "XDG_CONFIG_HOME", home: ".config", path: "opencode/plugins/"}, {path: ".opencode/plugins/"}},
		files: map[Scope]pathSpec{
			User: {variable: "XDG_CONFIG_HOME", home: ".config", path: "opencode/plugin"}, Project: {path: ".opencode/plugin"},
		},
		ownedFile:  opencodePlugin,
		minVersion: "1.14.34", // loads a default export; 1.3.0 does not
		events:     []event{{name: "hookback.js", mode: ask, allEvents: true}},
		notes:      []agentNote{{"", "OpenCode loads plugins at startup"}},
	},
	{
		name: "cline", title: "Cline",
		dirs:      []pathSpec{{home: "Documents/Cline"}, {home: ".cline"}},
		programs:  []string{"cline"},
		files:     map[Scope]pathSpec{User: {home: "Documents/Cline", path: "Hooks"}, Project: {path: ".clinerules/hooks"}},
		ownedFile: clineScript,
		// TaskError and SessionShutdown are events of the CLI, PreCompact of the extension.
		events: []event{
			{name: "TaskStart"}, {name: "TaskResume"}, {name: "TaskCancel"}, {name: "TaskComplete"}, {name: "TaskError"}, {name: "UserPromptSubmit"},
			{name: "PreToolUse", mode: ask, fixedTimeout: true}, {name: "PostToolUse"}, {name: "PreCompact"}, {name: "SessionShutdown"},
		},
		notes: []agentNote{{"", "Cline's editor extension runs hooks only if they are enabled in its settings (Features, Enable Hooks)"}},
	},
}

func claudePath(path string) pathSpec {
	return pathSpec{variable: "CLAUDE_CONFIG_DIR", home: ".claude", path: path}
}

func codexPath(path string) pathSpec {
	return pathSpec{variable: "CODEX_HOME", home: ".codex", path: path}
}
