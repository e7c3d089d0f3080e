package hookrun

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/report"
	"github.com/hookback/hookback/schema"
)

const hookHelp = `hookback hook AGENT [flags] < input

Runs as the hook of a coding agent; hookback install adds it to the agent's settings.
It reads the agent's JSON from stdin and sends it to the hub as an event. If the agent
or the policy requires a decision, it asks a person and prints the answer in the format
of the agent.

It always exits 0 and writes nothing to stderr, because agents take any other status
for a denial. The exception: agents without another way to deny get exit status 2 for a
denial. Errors are logged to hook.log in the state directory (~/.local/state/hookback
on Linux). Events that no hub accepts are stored there, and a later hook sends them.

If no one can decide (no hub, no open dashboard, no answer in time), the agent's own
prompt decides. If the agent has no prompt, a call that the policy leaves to a person is
denied. --on-unreachable changes this.

If this account trusts a hub, an answer counts only if that hub signed it for exactly this
call. See hookback trust --help.
`

// Time limits of a hook that asks a person.
const (
	limitMargin       = 5 * time.Second        // time left of the agent's limit when the hook stops waiting
	connectTimeout    = 500 * time.Millisecond // long enough for a hub to restart
	acceptTimeout     = 5 * time.Second        // for the hub to accept the question
	transcriptTimeout = 20 * time.Millisecond  // for reading the agent's transcript
	planTimeout       = 2 * time.Second        // for reading a plan, without which its question shows nothing to decide on
	hubTimeoutGrace   = 500 * time.Millisecond // for the hub's own timeout to arrive
	flushTimeout      = 5 * time.Second        // for spooled events, which are sent while the question is pending
)

// defaultAppealWait is the value of --appeal-wait. The agent's turn is blocked for that time.
const defaultAppealWait = 10 * time.Minute

// hookRun is one run of hook: its command line and its environment.
type hookRun struct {
	agent         hook.AgentInfo
	event         string
	observe       bool
	limit         time.Duration
	app           string
	hubFlags      *cli.Flags // --hub, --known-hubs and --unsigned
	policy        string     // replaces the user's policy file
	onUnreachable string
	onTimeout     string
	appealWait    time.Duration
	explain       bool
	plugin        bool // the hook is the plugin's

	exit           func(status int) // ends the process; nil if the process is not the hook's own
	releaseSignals func()           // stops the signal handler of the input phase
	env            func(string) string
	workDir        string
	std            cli.Streams
	started        time.Time
	// connectTimeout limits how long every hub address may refuse connections,
	// acceptTimeout how long a hub may take to accept a question, and sendTimeout an event.
	connectTimeout, acceptTimeout, sendTimeout, transcriptTimeout time.Duration

	log   hookLog
	spool report.Spool

	// pinned requires signed answers: the account trusts a hub and --unsigned is not set, or its trust
	// can't be read.
	pinned       bool
	untrustedHub bool                                     // a hub is pinned, but none of the addresses in use
	consequences map[*schema.ToolCall]*schema.Consequence // computed; nil: unknown
}

// Values of --on-unreachable.
const (
	thenAllow = "allow"
	thenDeny  = "deny"
	thenAsk   = "ask"
)

func (h *hookRun) flags() *cli.Flags {
	f := h.selectHub()
	f.StringVar(&h.event, "event", "", "the event's `name`, for agents that do not send it on stdin")
	f.BoolVar(&h.observe, "observe", false, "report to the hub, decide nothing")
	f.DurationVar(&h.limit, "limit", 0, "how long the agent lets this hook run, a `duration` such as 3600s")
	_, policy := cli.AccountFiles(h.env)
	f.StringVar(&h.policy, "policy", policy, "the user's policy `file`; default: hookback.json in ~/.config/hookback")
	f.StringVar(&h.app, "app", "", "the project's `name`; default: the name of its folder, also in its git worktrees")
	f.StringVar(&h.onUnreachable, "on-unreachable", "", "the `answer` if no one can decide: allow (only if there is no hub or no open dashboard), deny or ask")
	f.StringVar(&h.onTimeout, "on-timeout", "", "the `action` if no one answers in time: emit_timeout (follow --on-unreachable) or fail_run (deny, with a reason that instructs the agent to stop)")
	f.DurationVar(&h.appealWait, "appeal-wait", defaultAppealWait, "how long to wait for a person if the agent's own reviewer refused a call, a `duration`; 0 does not ask")
	f.BoolVar(&h.explain, "explain", false, "print the event and the possible answers, and send nothing")
	f.BoolVar(&h.plugin, "plugin", false, "the hook of a plugin: do nothing if the agent's settings have Hookback's hook for --event too")
	return f
}

func newHookRun(env func(string) string, std cli.Streams) *hookRun {
	return &hookRun{
		env: env, std: std, started: time.Now(), releaseSignals: func() {}, connectTimeout: connectTimeout,
		acceptTimeout: acceptTimeout, sendTimeout: report.SendTimeout, transcriptTimeout: transcriptTimeout,
		log: hookLog{cli.HookLogFile(env)}, spool: report.NewSpool(env),
	}
}

// logf writes an entry to the hook log.
func (h *hookRun) logf(format string, args ...any) {
	h.log.printf("hook %s: %s", cmp.Or(h.agent.Name, "?"), fmt.Sprintf(format, args...))
}

// selectHub returns the flags that select the hub, with their defaults before parse.
func (h *hookRun) selectHub() *cli.Flags {
	if h.hubFlags == nil {
		h.hubFlags = cli.NewBareFlags("hook", hookHelp)
		h.hubFlags.AddHubFlags(h.env)
		h.hubFlags.AddUnsignedFlag()
	}
	return h.hubFlags
}

// poster returns a poster of events to these hubs.
func (h *hookRun) poster(hubs []string) report.Poster {
	return report.Poster{Hubs: hubs, Options: h.selectHub().ProvenOptions(h.logf), Logf: h.logf}
}

// logPanic logs a panic and ends it. It must be deferred.
func (h *hookRun) logPanic() {
	if p := recover(); p != nil {
		h.logf("panic: %v\n%s", p, debug.Stack())
	}
}

// oneLine returns text on one line of at most 1,000 characters.
func oneLine(text string) string {
	return schema.Shorten(strings.Join(strings.Fields(text), " "), 1000)
}
