// Package statusline is hookback statusline.
package statusline

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

	"github.com/hookback/hookback/agentclient/internal/account"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/report"
	"github.com/hookback/hookback/agentclient/project"
	"github.com/hookback/hookback/schema"
)

const statuslineHelp = `hookback statusline [flags] [-- COMMAND ARGS…]

Runs as Claude Code's status line and reports the cost and the context usage of each
session to the hub. In ~/.claude/settings.json:

  "statusLine": {"type": "command", "command": "hookback statusline"}
  "statusLine": {"type": "command", "command": "hookback statusline -- ~/.claude/line.sh"}

With a command, it runs the command with the same stdin and prints its output unchanged.
Without a command, it prints its own line. It also sends the hub one small event when
cost, context or model have changed, at most once per --every. A hub that is down or
slow delays the line by at most a fifth of a second per --every, without an error.
`

const (
	maxStatusInput  = 1 << 20            // bytes of stdin that are parsed
	sessionStateTTL = 7 * 24 * time.Hour // age at which a session's state is removed
	maxSweep        = 64                 // state files checked for removal per run
)

// sessionStatus holds the members of Claude Code's status input that are reported.
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

// text returns the status line that is shown without a wrapped command.
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
	return project.Name(schema.MaxName, project.Main(cmp.Or(s.Workspace.Project, s.Workspace.Dir, s.Cwd)))
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

// toEvent returns the event for the hub.
func (s *sessionStatus) toEvent(app string) (schema.Event, error) {
	payload, err := json.Marshal(s)
	return schema.Event{
		SourceApp: cmp.Or(app, s.projectName(), "claude-code"), SessionID: s.SessionID, HookEventType: "StatusLine",
		Agent: "claude-code", ModelName: s.Model.ID, Payload: payload, Timestamp: schema.Millis(time.Now().UnixMilli()), Summary: s.text(),
	}, err
}

// statuslineRun is one run of statusline.
type statuslineRun struct {
	*cli.Flags
	every       time.Duration
	env         func(string) string
	std         cli.Streams
	sendTimeout time.Duration // for the hub to accept an event
}

// Run prints the status line and reports to the hub. It reports no errors: the exit
// status is that of the wrapped command.
func Run(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	return newStatuslineRun(env, std).run(ctx, args)
}

func newStatuslineRun(env func(string) string, std cli.Streams) *statuslineRun {
	l := &statuslineRun{Flags: cli.NewFlags("statusline", statuslineHelp, env), env: env, std: std, sendTimeout: report.SendTimeout}
	l.DurationVar(&l.every, "every", 3*time.Second, "the minimum `time` between two events of a session")
	return l
}

func (l *statuslineRun) run(ctx context.Context, args []string) int {
	std := l.std
	if status, done := l.ParseArgs(args, std); done {
		return status
	}
	if cli.IsTerminal(std.In) {
		return std.PrintError("statusline requires Claude Code's JSON on stdin; see hookback statusline --help")
	}
	text, _ := io.ReadAll(io.LimitReader(std.In, maxStatusInput))
	reported := make(chan struct{})
	var s sessionStatus
	_ = json.Unmarshal(text, &s) // members of an unexpected type stay empty
	go func() {
		defer close(reported)
		defer func() { _ = recover() }()
		l.report(&s)
	}()
	code := cli.ExitOK
	if len(l.Positional) > 0 {
		code = l.runWrapped(ctx, io.MultiReader(bytes.NewReader(text), std.In), &s)
	} else {
		fmt.Fprintln(std.Out, s.text())
	}
	<-reported
	return code
}

// runWrapped runs the wrapped command and returns its exit status. If the command cannot be
// started, it prints Hookback's own line.
func (l *statuslineRun) runWrapped(ctx context.Context, stdin io.Reader, s *sessionStatus) int {
	cmd := exec.CommandContext(ctx, l.Positional[0], l.Positional[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, l.std.Out, l.std.Err
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil || cmd.ProcessState != nil && cmd.ProcessState.Success(): // a command that does not read its stdin is fine
		return cli.ExitOK
	case errors.As(err, &exit):
		return max(exit.ExitCode(), cli.ExitProblem)
	default:
		fmt.Fprintln(l.std.Out, s.text())
		return cli.ExitOK
	}
}

// report sends an event if the status has changed.
func (l *statuslineRun) report(s *sessionStatus) {
	now := time.Now()
	if s.SessionID == "" || len(s.SessionID) > schema.MaxName {
		return
	}
	file, due := l.reserveReport(s, now)
	if !due {
		return
	}
	hubs, err := l.Hubs()
	if err != nil {
		return
	}
	e, err := s.toEvent(l.App)
	if err != nil {
		return
	}
	body, err := json.Marshal(e)
	if err != nil {
		return
	}
	_, err = report.Poster{Hubs: hubs, Options: l.ProvenOptions(func(string, ...any) {})}.Post(now.Add(l.sendTimeout), schema.PathEvents, net.Buffers{body})
	if err == nil || errors.As(err, new(report.RejectionError)) { // a rejected event would be rejected again
		_ = os.WriteFile(file, []byte(s.changeKey()), 0o600)
	}
}

// changeKey returns a string that differs whenever the status is worth reporting.
func (s *sessionStatus) changeKey() string {
	return fmt.Sprintf("%s %.4f %.0f", s.Model.ID, s.Cost.USD, s.Context.Used)
}

// reserveReport reports whether an event is due: the status has changed, and the last attempt
// is at least l.every ago. It records the attempt in the session's state file, so that a
// hub that is down delays the line only once in that time. The caller writes the change key
// into the file when the hub has accepted the event; until then the event is retried.
func (l *statuslineRun) reserveReport(s *sessionStatus, now time.Time) (file string, due bool) {
	dir := account.StateDir(l.env)
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

// removeStaleState removes state files that are older than sessionStateTTL.
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
