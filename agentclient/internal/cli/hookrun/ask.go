package hookrun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/consequence"
	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/report"
	"github.com/hookback/hookback/agentclient/internal/transcript"
	"github.com/hookback/hookback/agentclient/project"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// askPerson asks a person about the call and blocks until the answer, the deadline or a
// signal. answered is false if the agent no longer waits for output.
func (h *hookRun) askPerson(ctx context.Context, c *hook.Call, hd hookDecision) (v hook.Verdict, answered bool) {
	if reason := h.selectHub().UnprovenHub(); reason != "" {
		return h.askNoOne(c, hd, reason), true
	}
	o := h.selectHub().Options()
	o.UnreachableAfter = h.connectTimeout
	if h.waitsForHub(c) {
		o.UnreachableAfter = time.Until(h.deadline(c))
	}
	o.OnFirstContact = func(p agentclient.Pin) { h.logf("%s", cli.FirstContactText(p)) }
	client := agentclient.New(o)
	h.readTrust(client, o)
	hubs, err := h.selectHub().Hubs()
	if err != nil {
		h.logf("%v", err)
		h.spoolEvent(c.Event, err)
		return h.fallbackVerdict(c, hd, noHub, "No one could be asked: "+err.Error()+"."), true
	}
	h.logRefusedToken(o, hubs)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	agent := findAgentProcess()
	defer onSignal(func() { cancel(h.interruption(agent)) })()
	h.releaseSignals()
	defer onParentExit(func() { cancel(agent.interruption()) })()
	var accepted atomic.Bool // by a hub
	var flushes sync.WaitGroup
	flush := func() {
		flushes.Go(func() {
			defer h.logPanic()
			h.flushSpool(h.poster(hubs), time.Now().Add(flushTimeout))
		})
	}
	defer time.AfterFunc(time.Until(h.deadline(c))+hubTimeoutGrace, func() { cancel(errDeadline) }).Stop()
	defer time.AfterFunc(h.acceptTimeout+time.Duration(len(c.Event.Payload)>>20)*time.Second, func() {
		if !accepted.Load() && !h.waitsForHub(c) {
			cancel(errHubSlow)
		}
	}).Stop()
	r := h.buildRequest(c, hd)
	var overruled atomic.Pointer[hook.Verdict] // by a directive: no one has to answer
	r.OnWaiting = func(status agentclient.WaitStatus) {
		accepted.Store(true)
		if f := status.Directive.FreezeNotice(); f != nil {
			h.rememberFreeze(c, hubs, f)
		}
		if v := h.applyDirective(c, status.Directive, hook.Verdict{}); v.Effect != hook.Pass {
			overruled.Store(&v)
			cancel(errors.New(oneLine(v.Reason)))
		}
		if status.Watching != nil && *status.Watching == 0 && status.Reachable == 0 && !c.HasPrompt && !status.Settled {
			cancel(errNoDashboard)
		}
		flush()
	}
	r.OnReattached = flush // events of the meantime may show that the call has been decided
	d, err := client.Ask(ctx, r)
	_ = client.Close() // waits until the acknowledgement of the answer is sent
	if !accepted.Load() {
		h.spoolEvent(c.Event, cmp.Or(err, errors.New("no hub answers")))
	} else {
		waitAtMost(report.SendTimeout, flushes.Wait)
	}
	if v := overruled.Load(); v != nil {
		return *v, true
	}
	if err == nil {
		return h.verdictFor(c, hd, d), true
	}
	cause := context.Cause(ctx)
	if errors.Is(cause, errDeadline) && !accepted.Load() {
		cause = errHubSlow // no one was asked
	}
	return h.errorVerdict(c, hd, cause, err)
}

// askNoOne reports the call to a hub whose answers don't count, and returns the verdict without a person.
func (h *hookRun) askNoOne(c *hook.Call, hd hookDecision, reason string) hook.Verdict {
	h.logf("%s", reason)
	h.untrustedHub = true
	directive, finish := h.send(c)
	finish()
	return h.applyDirective(c, directive, h.fallbackVerdict(c, hd, noHub, reason))
}

// readTrust sets whether answers must be signed, and whether the address in use is trusted.
func (h *hookRun) readTrust(client *agentclient.Client, o agentclient.Options) {
	if trust, err := client.Trust(); err != nil {
		h.logf("%v", err)
		h.pinned = true
	} else {
		h.pinned = len(trust.Pins()) > 0 && !o.Unsigned
	}
	h.untrustedHub = !client.TrustsAddress()
}

// waitAtMost returns when f does, or after d.
func waitAtMost(d time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(d):
	}
}

// waitsForHub reports whether the hook waits for a hub to start. It can while the agent's own
// prompt is open, unless a flag decides the call without a hub.
func (h *hookRun) waitsForHub(c *hook.Call) bool {
	return c.HasPrompt && h.onUnreachable != thenAllow && h.onUnreachable != thenDeny
}

// logRefusedToken logs the addresses that may not receive the token.
func (h *hookRun) logRefusedToken(o agentclient.Options, hubs []string) {
	for _, hub := range hubs {
		if _, err := agentclient.TokenFor(o, hub); err != nil {
			h.logf("%v", err)
		}
	}
}

// handlerDelay is how long a hook runs without a signal handler. Most agents write a short input
// and close stdin at the start of a hook, and installing the handler takes 0.2 ms.
const handlerDelay = 5 * time.Millisecond

// signalWatch is a signal handler that is installed after handlerDelay, or when install is called.
type signalWatch struct {
	timer  *time.Timer
	handle func()

	mu        sync.Mutex
	installed bool
	stopped   bool
	release   func() // of the installed handler
}

func watchSignals(handle func()) *signalWatch {
	w := &signalWatch{handle: handle, release: func() {}}
	w.timer = time.AfterFunc(handlerDelay, w.install)
	return w
}

func (w *signalWatch) install() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.installed && !w.stopped {
		w.installed, w.release = true, onSignal(w.handle)
	}
}

func (w *signalWatch) stop() {
	w.timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.stopped = true
		w.release()
	}
}

// onSignal calls handle when the process receives SIGINT or SIGTERM.
func onSignal(handle func()) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			handle()
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// buildRequest returns the request for the call. It does not modify c.
func (h *hookRun) buildRequest(c *hook.Call, hd hookDecision) agentclient.Request {
	ask := c.Question()
	ask.Lifeline, ask.AlsoAsked = true, c.HasPrompt
	if c.PromptAfter > 0 {
		ask.PromptAfter = h.deadline(c).Sub(h.started).Round(time.Second).Seconds()
	}
	if effect := h.consequence(c); effect != nil && len(effect.Sentences) > 0 && ask.ToolCall != nil {
		shown := *ask.ToolCall
		shown.Consequence, ask.ToolCall = effect, &shown
	}
	if hd.policy.Risk != "" {
		ask.Risk = schema.Risk(hd.policy.Risk)
	}
	messages := h.conversation(c)
	if ask.Context != nil || hd.policy.Reason != "" || messages != (transcript.Messages{}) {
		var questionContext schema.Context
		if ask.Context != nil {
			questionContext = *ask.Context
		}
		if hd.policy.Reason != "" {
			questionContext.Why = strings.TrimSpace(questionContext.Why + "\n" + policyReason("Approval required", hd.policy))
		}
		questionContext.UserPrompt, questionContext.LastMessage = messages.Prompt, messages.Last
		if main := project.Main(questionContext.Cwd); main != questionContext.Cwd {
			questionContext.Project = main
		}
		ask.Context = &questionContext
	}
	h.addOwnersTo(&ask, c, hd)
	if h.onTimeout == schema.FailRun {
		ask.OnTimeout = schema.FailRun
	}
	e := c.Event
	e.HumanInTheLoop, e.IdempotencyKey = &ask, randomKey()
	accepts := h.accepts(c)
	accepts.Message = false // it might wait for hours, and the next hook takes it
	return agentclient.Request{
		Event: e, Accepts: accepts, OnUnreachable: agentclient.Deny, Timeout: time.Until(h.deadline(c)),
		Secret: h.env(control.TicketVariable),
	}
}

// consequence returns the consequence of the call, or nil if it is unknown. It is computed once.
func (h *hookRun) consequence(c *hook.Call) *schema.Consequence {
	if c.Tool == nil || c.Truncated || c.Unreadable {
		return nil
	}
	if known, ok := h.consequences[c.Tool]; ok {
		return known
	}
	dir := cmp.Or(workingDir(c), h.workDir)
	effect := consequence.Of(consequence.Input{
		Call: call.Read(call.Input{
			Agent: c.Event.Agent, Tool: c.Tool.Name, Alias: c.Alias, Dir: dir, Command: c.Command, Arguments: c.Tool.Arguments,
		}),
		Dir: dir, Home: cli.AccountHome(h.env), Logf: h.logf,
		NamedAt: func(file string) time.Time {
			ctx, cancel := context.WithTimeout(context.Background(), h.transcriptTimeout)
			defer cancel()
			return transcript.NamedAt(ctx, h.transcriptOf(c), file, c.Event.ToolUseID)
		},
	})
	h.consequences = map[*schema.ToolCall]*schema.Consequence{c.Tool: effect}
	return effect
}

// conversation returns the newest messages of the agent that makes the call, from the transcript that
// its hook names.
func (h *hookRun) conversation(c *hook.Call) transcript.Messages {
	ctx, cancel := context.WithTimeout(context.Background(), h.transcriptTimeout)
	defer cancel()
	return transcript.Read(ctx, h.transcriptOf(c))
}

// transcriptOf returns the path of the transcript of the agent that makes the call; empty: unknown.
func (h *hookRun) transcriptOf(c *hook.Call) string {
	if c.Event.AgentID == "" && c.Event.AgentTranscriptPath == "" {
		return transcriptPath(c)
	}
	return c.Event.AgentTranscriptPath
}

// readPlan returns the plan in the file, or the newest in the transcript. Claude Code keeps plans in its directory.
func (h *hookRun) readPlan(file, path string) string {
	ctx, cancel := context.WithTimeout(context.Background(), planTimeout)
	defer cancel()
	var folders []string
	for _, dir := range []string{h.env("CLAUDE_CONFIG_DIR"), filepath.Join(cli.AccountHome(h.env), ".claude")} {
		if filepath.IsAbs(dir) {
			folders = append(folders, filepath.Join(dir, "plans"))
		}
	}
	return transcript.Plan(ctx, folders, file, path)
}

// transcriptPath returns the path of the session's transcript in the agent's input, or "".
func transcriptPath(c *hook.Call) (path string) {
	var payload map[string]json.RawMessage
	_ = json.Unmarshal(c.Event.Payload, &payload)
	_ = json.Unmarshal(payload["transcript_path"], &path)
	return path
}

// deadline returns when the hook stops waiting. It is before the agent kills the hook,
// because the agent discards the output of a killed hook.
func (h *hookRun) deadline(c *hook.Call) time.Time {
	limit := h.limit
	if limit <= 0 {
		limit = c.Limit
	}
	if limit <= 0 {
		limit = time.Minute // the shortest default of most agents
	}
	wait := max(limit-limitMargin, limit/2)
	if c.Point == hook.Appeal {
		wait = min(wait, h.appealWait)
	}
	if c.PromptAfter > 0 {
		wait = min(wait, c.PromptAfter)
	}
	if c.Ask.Timeout != nil && *c.Ask.Timeout > 0 {
		wait = min(wait, c.Ask.TimeoutDuration())
	}
	return h.started.Add(wait)
}
