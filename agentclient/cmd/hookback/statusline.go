package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

const statuslineHelp = `hookback statusline [flags] [-- COMMAND ARGS…]

What Claude Code runs as its status line, so that the hub knows what a session
costs and how full its context is. In ~/.claude/settings.json:

  "statusLine": {"type": "command", "command": "hookback statusline"}
  "statusLine": {"type": "command", "command": "hookback statusline -- ~/.claude/line.sh"}

With a command it runs that on the same stdin and prints what it prints, unchanged;
without one it prints a line of its own. Beside that it sends the hub one small event
when cost, context or model have changed, at most every --every. A hub that is down
or slow costs at most a fifth of a second, once in that time, and is told to nobody.
`

// Bounds of a status line.
const (
	maxStatusInput  = 1 << 20            // bytes of what Claude Code says
	sessionStateTTL = 7 * 24 * time.Hour // how long a session's state is kept
	maxSweep        = 64                 // how many other sessions' state is looked at for that
)

// sessionStatus is what Claude Code tells its status line, as far as it is of use here.
type sessionStatus struct {
	SessionID string `json:"session_id,omitempty"`
	Cwd       string `json:"cwd,omitempty"`
	Version   string `json:"version,omitempty"`
	PromptID  string `json:"prompt_id,omitempty"`
	Model     struct {
		ID   string `json:"id,omitempty"`
		Name string `json:"display_name,omitempty"`
	} `json:"model,omitzero"`
	Workspace struct {
		Dir     string `json:"current_dir,omitempty"`
		Project string `json:"project_dir,omitempty"`
	} `json:"workspace,omitzero"`
	Cost struct {
		USD     float64 `json:"total_cost_usd,omitempty"`
		MS      float64 `json:"total_duration_ms,omitempty"`
		APIMS   float64 `json:"total_api_duration_ms,omitempty"`
		Added   float64 `json:"total_lines_added,omitempty"`
		Removed float64 `json:"total_lines_removed,omitempty"`
	} `json:"cost,omitzero"`
	Context struct {
		Size float64 `json:"context_window_size,omitempty"`
		Used float64 `json:"used_percentage,omitempty"`
	} `json:"context_window,omitzero"`
}

// text is the status line of those who have none.
func (s *sessionStatus) text() string {
	var parts []string
	for _, p := range []string{cmp.Or(s.Model.Name, s.Model.ID), s.projectName(), s.costText(), s.contextText()} {
		p = strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return -1
		}, p)
		if p = p[:min(len(p), 60)]; p != "" {
			parts = append(parts, strings.ToValidUTF8(p, ""))
		}
	}
	return strings.Join(parts, " · ")
}

func (s *sessionStatus) projectName() string {
	dir := strings.TrimRight(cmp.Or(s.Workspace.Project, s.Workspace.Dir, s.Cwd), `/\`)
	return dir[strings.LastIndexAny(dir, `/\`)+1:]
}

func (s *sessionStatus) costText() string {
	if s.Cost.USD <= 0 {
		return ""
	}
	return fmt.Sprintf("$%.2f", s.Cost.USD)
}

func (s *sessionStatus) contextText() string {
	if s.Context.Used <= 0 {
		return ""
	}
	return fmt.Sprintf("context %.0f %%", s.Context.Used)
}

// toEvent is what the hub is told.
func (s *sessionStatus) toEvent(app string) (schema.Event, error) {
	payload, err := json.Marshal(s)
	return schema.Event{
		SourceApp: cmp.Or(app, s.projectName(), "claude-code"), SessionID: s.SessionID, HookEventType: "StatusLine",
		Agent: "claude-code", ModelName: s.Model.ID, Payload: payload, Timestamp: toMillis(time.Now()), Summary: s.text(),
	}, err
}

// statuslineRun is one run of statusline.
type statuslineRun struct {
	*flags
	every time.Duration
	env   func(string) string
	std   streams
	// sendTimeout is how long the hub may take to take an event.
	sendTimeout time.Duration
}

// runStatusline is the verb statusline. What goes wrong here is nobody's business:
// the line is shown, and the status is the wrapped command's.
func runStatusline(ctx context.Context, args []string, env func(string) string, std streams) int {
	return newStatuslineRun(env, std).run(ctx, args)
}

func newStatuslineRun(env func(string) string, std streams) *statuslineRun {
	l := &statuslineRun{flags: newFlags("statusline", statuslineHelp, env), env: env, std: std, sendTimeout: sendTimeout}
	l.DurationVar(&l.every, "every", 3*time.Second, "the least `time` between two events of a session")
	return l
}

func (l *statuslineRun) run(ctx context.Context, args []string) int {
	std := l.std
	if status, done := l.parse(args, std); done {
		return status
	}
	if f, ok := std.in.(*os.File); ok && isTerminal(f) {
		return std.printError("Claude Code runs this; see hookback statusline --help")
	}
	text, _ := io.ReadAll(io.LimitReader(std.in, maxStatusInput))
	reported := make(chan struct{})
	var s sessionStatus
	_ = json.Unmarshal(text, &s) // of what is of another type the rest counts
	go func() {
		defer close(reported)
		defer func() { _ = recover() }()
		l.report(&s)
	}()
	code := exitOK
	if len(l.positional) > 0 {
		code = l.runWrapped(ctx, io.MultiReader(bytes.NewReader(text), std.in), &s)
	} else {
		fmt.Fprintln(std.out, s.text())
	}
	<-reported
	return code
}

// runWrapped runs the command that is wrapped. One that can't be started leaves our line.
func (l *statuslineRun) runWrapped(ctx context.Context, stdin io.Reader, s *sessionStatus) int {
	cmd := exec.CommandContext(ctx, l.positional[0], l.positional[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, l.std.out, l.std.err
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil || cmd.ProcessState != nil && cmd.ProcessState.Success(): // it need not read its stdin
		return exitOK
	case errors.As(err, &exit):
		return max(exit.ExitCode(), exitDenied)
	default:
		fmt.Fprintln(l.std.out, s.text())
		return exitOK
	}
}

// report sends the event, where there is something new.
func (l *statuslineRun) report(s *sessionStatus) {
	now := time.Now()
	if s.SessionID == "" || len(s.SessionID) > schema.MaxName {
		return
	}
	file, due := l.reserveReport(s, now)
	if !due {
		return
	}
	hubs, err := agentclient.Hubs(cmp.Or(l.hub, l.env("HOOKBACK_URL")))
	if err != nil {
		return
	}
	e, err := s.toEvent(l.app)
	if err != nil {
		return
	}
	body, err := json.Marshal(e)
	if err != nil {
		return
	}
	_, err = rawPoster{hubs, l.env}.post(now.Add(l.sendTimeout), schema.PathEvents, net.Buffers{body})
	if err == nil || errors.As(err, new(rejectionError)) { // the same again would be refused again
		_ = os.WriteFile(file, []byte(s.changeKey()), 0o600)
	}
}

// changeKey is what makes a status worth telling.
func (s *sessionStatus) changeKey() string {
	return fmt.Sprintf("%s %.4f %.0f", s.Model.ID, s.Cost.USD, s.Context.Used)
}

// reserveReport reports whether it is time to tell the hub. It notes in the session's file that
// this was tried, so that a hub that is down costs its time once in a while. What the
// hub was told is written there when it has taken it: else it is tried again.
func (l *statuslineRun) reserveReport(s *sessionStatus, now time.Time) (file string, due bool) {
	dir := stateDir(l.env)
	if dir == "" {
		return "", false
	}
	dir = filepath.Join(dir, "statusline")
	sum := sha256.Sum256([]byte(s.SessionID))
	file = filepath.Join(dir, hex.EncodeToString(sum[:12]))
	if info, err := os.Stat(file); err == nil {
		if age := now.Sub(info.ModTime()); age >= 0 && age < l.every {
			return "", false
		}
		if before, err := os.ReadFile(file); err == nil && string(before) == s.changeKey() {
			return "", false
		}
	} else {
		removeStaleState(dir, now)
	}
	if os.MkdirAll(dir, 0o700) != nil {
		return "", false
	}
	return file, os.WriteFile(file, nil, 0o600) == nil
}

// removeStaleState removes what is left of sessions that nobody has heard of for long.
func removeStaleState(dir string, now time.Time) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer func() { _ = d.Close() }()
	list, _ := d.ReadDir(maxSweep)
	for _, entry := range list {
		if info, err := entry.Info(); err == nil && now.Sub(info.ModTime()) > sessionStateTTL {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}
