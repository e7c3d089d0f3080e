package install

// agentConfig says how one agent's settings call a hook. It is data: what differs from
// agent to agent stands in a table, what is the same in the code.
type agentConfig struct {
	name  string // as in hook.Agents
	title string
	// dirs are the directories and programs that tell that the agent is here.
	dirs     []pathSpec
	programs []string
	// files are the settings by scope; an agent that has no such scope lacks it.
	files      map[Scope]pathSpec
	eventsPath []string // where the events are in the file
	// formatVersion is what the file must say at its root, 0: nothing.
	formatVersion int
	format        handlerFormat
	events        []event
	notes         []agentNote
	// ownedFile makes a file that is ours alone, one for each event, named like it; the
	// scope's place is then their directory. nil: entries are added to settings.
	ownedFile func(c hookCommand, e event) string
	// minVersion is the first version that knows how this is written.
	minVersion string
}

// pathSpec is a path: relative to a directory that a variable names, else to one below
// the home; or, without both, to the project.
type pathSpec struct {
	variable, home string
	path           string
}

// handlerFormat is how an agent writes one handler.
type handlerFormat struct {
	nested           bool   // {"matcher": …, "hooks": [handler]}
	matchAll         string // the matcher that means every tool; "": none is needed
	hasType          bool   // "type": "command"
	hasName          bool   // "name": "hookback"
	execMember       string // the member that holds a program whose "args" follow; "": a shell runs "command"
	shellMember      string // the member that holds a shell's command line
	failsClosed      bool   // a program that can't be started is a no: a shell looks first
	timeoutMember    string // the member's name; "": the agent has none
	timeoutUnit      int    // of the timeout, in a second
	hasAsync         bool   // knows "async"
	hasStatusMessage bool   // knows "statusMessage"
	needsEventFlag   bool   // doesn't say on stdin which event it is
	hidesOutput      bool   // "show_output": false
	forbidsSlashes   bool   // no string may hold two slashes
}

// event is one event that is heard.
type event struct {
	name           string
	matcher        string
	mode           hookMode
	timeoutSeconds int  // the agent's timeout for this hook; 0: as does says
	sync           bool // never async: the agent may end before it has run
	flat           bool // not nested, whatever the form says
	since          string
}

// hookMode says what a hook may do at an event in gate mode.
type hookMode int

const (
	observe hookMode = iota // nothing: it is sent
	ask                     // it may wait for a person
	block                   // it may wait, and the agent's user sees nothing else meanwhile
)

// How long hooks may take. A person has an hour, unless the agent shows nothing but
// its status line while its hook waits.
const (
	observeSeconds = 10
	askSeconds     = 3600
	blockSeconds   = 120
)

// agentNote is what a person has to do or know after an installation.
type agentNote struct {
	scope Scope // "": every
	text  string
}

var agentConfigs = []agentConfig{
	{
		name: "claude-code", title: "Claude Code",
		dirs: []pathSpec{claudePath("")}, programs: []string{"claude"},
		files: map[Scope]pathSpec{
			User: claudePath("settings.json"), Project: {path: ".claude/settings.json"}, Local: {path: ".claude/settings.local.json"},
		},
		eventsPath: []string{"hooks"},
		format:     handlerFormat{nested: true, hasType: true, execMember: "command", shellMember: "command", timeoutMember: "timeout", timeoutUnit: 1, hasAsync: true, hasStatusMessage: true},
		// WorktreeCreate is not here: its hook replaces what Claude Code would do.
		// Nor is MessageDisplay, whose hooks hold up every line that is shown.
		events: []event{
			{name: "SessionStart", sync: true}, {name: "SessionEnd", timeoutSeconds: 5, sync: true},
			{name: "UserPromptSubmit"},
			{name: "PreToolUse", mode: ask}, {name: "PermissionRequest", mode: ask},
			{name: "PostToolUse"}, {name: "PostToolUseFailure"},
			{name: "Notification"},
			{name: "SubagentStart"}, {name: "SubagentStop"},
			{name: "Stop", sync: true},
			{name: "PreCompact"},
			{name: "Setup", since: "2.1.139"},
			{name: "UserPromptExpansion", since: "2.1.240"},
			{name: "PermissionDenied", since: "2.1.139"},
			{name: "PostToolBatch", since: "2.1.240"},
			{name: "TaskCreated", since: "2.1.139"}, {name: "TaskCompleted", since: "2.1.139"},
			{name: "TeammateIdle", since: "2.1.139"},
			{name: "StopFailure", since: "2.1.139", sync: true},
			{name: "PostCompact", since: "2.1.139"},
			{name: "Elicitation", since: "2.1.139", mode: block}, {name: "ElicitationResult", since: "2.1.139"},
			{name: "ConfigChange", since: "2.1.139"},
			{name: "CwdChanged", since: "2.1.139"}, {name: "DirectoryAdded", since: "2.1.240"},
			{name: "FileChanged", since: "2.1.139"}, {name: "InstructionsLoaded", since: "2.1.139"},
			{name: "WorktreeRemove", since: "2.1.139"},
		},
		minVersion: "2.1.139", // "args" beside "command"
		notes: []agentNote{
			{Project, "Claude Code runs the hooks of a folder only once its user trusts the folder"},
			{Local, "Claude Code runs the hooks of a folder only once its user trusts the folder"},
		},
	},
	{
		name: "codex", title: "Codex CLI",
		dirs: []pathSpec{codexPath("")}, programs: []string{"codex"},
		files:      map[Scope]pathSpec{User: codexPath("hooks.json"), Project: {path: ".codex/hooks.json"}},
		eventsPath: []string{"hooks"},
		format:     handlerFormat{nested: true, hasType: true, shellMember: "command", timeoutMember: "timeout", timeoutUnit: 1, hasAsync: true, hasStatusMessage: true},
		events: []event{
			{name: "SessionStart", sync: true}, {name: "SessionEnd", timeoutSeconds: 3, sync: true},
			{name: "UserPromptSubmit"},
			{name: "PreToolUse", mode: block}, {name: "PermissionRequest", mode: block}, {name: "PostToolUse"},
			{name: "SubagentStart"}, {name: "SubagentStop"},
			{name: "PreCompact"}, {name: "PostCompact"},
			{name: "Stop", sync: true}, {name: "Interrupt", timeoutSeconds: 3, sync: true},
		},
		notes: []agentNote{{"", "Codex runs new or changed hooks only once they are trusted: open /hooks in Codex and trust them"}},
	},
	{
		name: "gemini", title: "Gemini CLI",
		dirs: []pathSpec{{home: ".gemini", path: "settings.json"}}, programs: []string{"gemini"},
		files:      map[Scope]pathSpec{User: {home: ".gemini", path: "settings.json"}, Project: {path: ".gemini/settings.json"}},
		eventsPath: []string{"hooks"},
		format:     handlerFormat{nested: true, matchAll: "*", hasType: true, hasName: true, shellMember: "command", timeoutMember: "timeout", timeoutUnit: 1000},
		// BeforeModel, AfterModel and BeforeToolSelection are not here: they run for
		// every piece of an answer.
		events: []event{
			{name: "SessionStart"}, {name: "SessionEnd"},
			{name: "BeforeAgent"}, {name: "AfterAgent"},
			{name: "BeforeTool", mode: ask}, {name: "AfterTool"},
			{name: "PreCompress"}, {name: "Notification"},
		},
		notes: []agentNote{
			{"", "Gemini CLI also asks in its own way for what it would ask for anyway; a yes in Hookback can't answer that"},
			{Project, "Gemini CLI warns of a project's hooks once, and again when they change"},
		},
	},
	{
		name: "cursor", title: "Cursor",
		dirs: []pathSpec{{home: ".cursor"}}, programs: []string{"cursor", "cursor-agent"},
		files:      map[Scope]pathSpec{User: {home: ".cursor", path: "hooks.json"}, Project: {path: ".cursor/hooks.json"}},
		eventsPath: []string{"hooks"}, formatVersion: 1,
		format: handlerFormat{shellMember: "command", timeoutMember: "timeout", timeoutUnit: 1, forbidsSlashes: true},
		// An event that Cursor doesn't know makes it reject the whole file. Shell and MCP
		// calls have events of their own, whose "ask" Cursor keeps to; preToolUse would run
		// for them too.
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
		files: map[Scope]pathSpec{
			User: {variable: "COPILOT_HOME", home: ".copilot", path: "hooks/hookback.json"}, Project: {path: ".github/hooks/hookback.json"},
		},
		eventsPath: []string{"hooks"}, formatVersion: 1,
		format: handlerFormat{hasType: true, execMember: "exec", shellMember: "bash", failsClosed: true, timeoutMember: "timeoutSec", timeoutUnit: 1, needsEventFlag: true},
		events: []event{
			{name: "SessionStart"}, {name: "SessionEnd"}, {name: "UserPromptSubmit"},
			// PermissionRequest is not here: it runs for the calls that PreToolUse has gated,
			// and would ask a second time.
			{name: "PreToolUse", mode: ask},
			{name: "PostToolUse"}, {name: "PostToolUseFailure"},
			{name: "SubagentStart"}, {name: "SubagentStop"},
			{name: "PreCompact"}, {name: "Notification"}, {name: "Stop"}, {name: "ErrorOccurred"},
		},
		notes: []agentNote{{Project, "Copilot's cloud agent runs these hooks too; it has no hookback, and goes on without"}},
	},
	{
		name: "qwen", title: "Qwen Code",
		dirs: []pathSpec{{home: ".qwen"}}, programs: []string{"qwen"},
		files:      map[Scope]pathSpec{User: {home: ".qwen", path: "settings.json"}, Project: {path: ".qwen/settings.json"}},
		eventsPath: []string{"hooks"},
		// Qwen Code counts in seconds since 2026, but takes 1,000 and more for the
		// milliseconds that they were before: these are understood by both.
		format: handlerFormat{nested: true, hasType: true, hasName: true, shellMember: "command", timeoutMember: "timeout", timeoutUnit: 1000},
		events: []event{
			{name: "SessionStart"}, {name: "SessionEnd"}, {name: "UserPromptSubmit"},
			{name: "PreToolUse", mode: ask}, {name: "PermissionRequest", mode: block},
			{name: "PostToolUse"}, {name: "PostToolUseFailure"}, {name: "Notification"},
			{name: "SubagentStart"}, {name: "SubagentStop"}, {name: "PreCompact"}, {name: "Stop"},
		},
	},
	{
		name: "droid", title: "Factory Droid",
		dirs: []pathSpec{{home: ".factory"}}, programs: []string{"droid"},
		files:      map[Scope]pathSpec{User: {home: ".factory", path: "hooks.json"}, Project: {path: ".factory/hooks.json"}},
		eventsPath: []string{"hooks"},
		format:     handlerFormat{nested: true, matchAll: "*", hasType: true, shellMember: "command", timeoutMember: "timeout", timeoutUnit: 1},
		events: []event{
			{name: "SessionStart"}, {name: "SessionEnd"}, {name: "UserPromptSubmit"},
			{name: "PreToolUse", mode: ask}, {name: "PostToolUse"}, {name: "Notification"},
			{name: "SubagentStop"}, {name: "PreCompact"}, {name: "Stop"},
		},
		notes: []agentNote{{"", "Droid reads its hooks when it starts, and asks to review changed ones in /hooks"}},
	},
	{
		name: "crush", title: "Crush",
		dirs: []pathSpec{{variable: "XDG_CONFIG_HOME", home: ".config", path: "crush"}}, programs: []string{"crush"},
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
		eventsPath: []string{"hookback"}, // hooks are grouped under names of their owner's
		format:     handlerFormat{nested: true, matchAll: "*", hasType: true, shellMember: "command", timeoutMember: "timeout", timeoutUnit: 1, needsEventFlag: true},
		events: []event{
			{name: "PreToolUse", mode: ask}, {name: "PostToolUse"},
			{name: "PreInvocation", flat: true}, {name: "Stop", flat: true},
		},
	},
	{
		name: "kiro", title: "Kiro CLI",
		dirs: []pathSpec{{home: ".kiro"}}, programs: []string{"kiro-cli"},
		files:      map[Scope]pathSpec{User: {home: ".kiro/agents", path: "*.json"}, Project: {path: ".kiro/agents/*.json"}},
		eventsPath: []string{"hooks"},
		format:     handlerFormat{shellMember: "command", timeoutMember: "timeout_ms", timeoutUnit: 1000},
		events: []event{
			{name: "agentSpawn"}, {name: "userPromptSubmit"},
			{name: "preToolUse", matcher: "*", mode: ask}, {name: "postToolUse", matcher: "*"}, {name: "stop"},
		},
		notes: []agentNote{{"", "Kiro's hooks belong to its custom agents; agents made later need another hookback install"}},
	},
	{
		name: "opencode", title: "OpenCode",
		dirs: []pathSpec{{variable: "XDG_CONFIG_HOME", home: ".config", path: "opencode"}}, programs: []string{"opencode"},
		files: map[Scope]pathSpec{
			User: {variable: "XDG_CONFIG_HOME", home: ".config", path: "opencode/plugin"}, Project: {path: ".opencode/plugin"},
		},
		ownedFile: opencodePlugin,
		events:    []event{{name: "hookback.js", mode: ask}},
		notes:     []agentNote{{"", "OpenCode loads its plugins when it starts"}},
	},
	{
		name: "cline", title: "Cline",
		dirs:      []pathSpec{{home: "Documents/Cline"}},
		files:     map[Scope]pathSpec{User: {home: "Documents/Cline", path: "Hooks"}, Project: {path: ".clinerules/hooks"}},
		ownedFile: clineScript,
		// Cline lets a hook run for 30 seconds, and its settings can't change that.
		events: []event{
			{name: "TaskStart"}, {name: "TaskResume"}, {name: "TaskCancel"}, {name: "TaskComplete"}, {name: "UserPromptSubmit"},
			{name: "PreToolUse", mode: ask, timeoutSeconds: 30}, {name: "PostToolUse"}, {name: "PreCompact"},
		},
		notes: []agentNote{{"", "Cline runs hooks once they are enabled in its settings (Features, Enable Hooks)"}},
	},
}

func claudePath(path string) pathSpec {
	return pathSpec{variable: "CLAUDE_CONFIG_DIR", home: ".claude", path: path}
}

func codexPath(path string) pathSpec {
	return pathSpec{variable: "CODEX_HOME", home: ".codex", path: path}
}
