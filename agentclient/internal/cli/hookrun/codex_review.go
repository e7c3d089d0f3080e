package hookrun

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/transcript"
	"github.com/hookback/hookback/schema/control"
)

// Codex's own reviewer. Its hooks name neither the reviewer nor what it refused: the reviewer is in
// the transcript and in the configuration, and a refusal is in the transcript.

const codexAgent = "codex"

// codexInput has the members of a hook's input that all events have.
type codexInput struct {
	TranscriptPath string `json:"transcript_path"`
	TurnID         string `json:"turn_id"`
	Cwd            string `json:"cwd"`
}

// readReviewer sets whether Codex's reviewer decides about a prompt.
func (h *hookRun) readReviewer(c *hook.Call) {
	if h.agent.Name != codexAgent || c.Point != hook.Prompt {
		return
	}
	var in codexInput
	if json.Unmarshal(c.Event.Payload, &in) != nil {
		return
	}
	turn := h.codexTurn(in, h.transcriptTimeout)
	if turn.ID != in.TurnID || turn.Reviewer == "" { // the turn began before what was read, or Codex is old
		turn.Reviewer = h.configuredReviewer(in.Cwd)
	}
	c.Reviewed = isCodexReviewer(turn.Reviewer)
}

// isCodexReviewer reports whether the value of approvals_reviewer is a program and no person.
func isCodexReviewer(name string) bool {
	return name == "auto_review" || name == "guardian_subagent" // its earlier name
}

// refusedCall returns the appeal of the call that Codex's reviewer refused last, at the end of the
// turn; nil if there is none.
func (h *hookRun) refusedCall(c *hook.Call) *hook.Call {
	if h.agent.Name != codexAgent || c.Event.HookEventType != "Stop" || h.observe || h.appealWait <= 0 {
		return nil
	}
	var in codexInput
	if json.Unmarshal(c.Event.Payload, &in) != nil {
		return nil
	}
	turn := h.codexTurn(in, time.Second) // the turn is over: nothing waits
	if turn.ID != in.TurnID || turn.Refused == nil || !isCodexReviewer(turn.Reviewer) {
		return nil
	}
	var members map[string]any
	_ = json.Unmarshal(c.Event.Payload, &members) // it is an object, see above
	members["hook_event_name"] = "PermissionDenied"
	members["tool_use_id"], members["reason"] = turn.Refused.ID, turn.Refused.Reason
	members["tool_name"], members["tool_input"] = turn.Refused.Tool, turn.Refused.Call
	delete(members, "last_assistant_message")
	input, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	appeal, err := h.agent.Agent.Parse(hook.Input{Stdin: input, Env: h.env, Dir: h.workDir, IsInteractive: isInteractive})
	if err != nil || appeal.Unreadable {
		return nil
	}
	appeal.Limit = c.Limit
	return h.complete(&appeal)
}

// checkRepeatedCall returns why a grant does not count for a call of Codex: its hook gets only a part of
// the call's arguments, and the call must be the refused one in all of them.
func (h *hookRun) checkRepeatedCall(c *hook.Call, g *control.Grant) error {
	if h.agent.Name != codexAgent {
		return nil
	}
	var in codexInput
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	switch err := json.Unmarshal(c.Event.Payload, &in); {
	case err == nil && c.Point == hook.Gate && transcript.RepeatsCall(ctx, in.TranscriptPath, askedLater(g.Question)):
	case err == nil && c.Point == hook.Prompt && transcript.RepeatsRefusedCall(ctx, in.TranscriptPath):
	default:
		return errors.New("the call is not exactly the one that was refused")
	}
	return nil
}

func (h *hookRun) codexTurn(in codexInput, limit time.Duration) transcript.CodexTurn {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return transcript.ReadCodexTurn(ctx, in.TranscriptPath)
}

// configuredReviewer returns the reviewer in the first of Codex's configuration files that names one:
// managed, of the project, of the user, of the system. A project can only name a person, because a program
// makes the hook step back. Files are read up to 1 MiB.
func (h *hookRun) configuredReviewer(cwd string) string {
	home := h.env("CODEX_HOME")
	if home == "" {
		home = filepath.Join(h.env("HOME"), ".codex")
	}
	reviewer := cmp.Or(reviewerIn("/etc/codex/managed_config.toml"), reviewerIn(filepath.Join(home, "managed_config.toml")))
	for dir := cwd; reviewer == "" && filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		if named := reviewerIn(filepath.Join(dir, ".codex", "config.toml")); !isCodexReviewer(named) {
			reviewer = named
		}
		if filepath.Dir(dir) == dir {
			break
		}
	}
	return cmp.Or(reviewer, reviewerIn(filepath.Join(home, "config.toml")), reviewerIn("/etc/codex/config.toml"))
}

var reviewerLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*["']?approvals_reviewer["']?\s*=\s*["']([a-z_]+)["']\s*(?:#.*)?$`)
})

// reviewerIn returns the member approvals_reviewer at the root of a TOML file, or "". It stops at the
// first table. A text over several lines could contain anything, so lines in one are skipped.
func reviewerIn(file string) string {
	info, err := os.Stat(file)
	if err != nil || !filepath.IsAbs(file) || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return ""
	}
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	isText := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		quotes := strings.Count(line, `"""`) + strings.Count(line, "'''")
		switch {
		case isText || quotes%2 == 1:
			isText = isText != (quotes%2 == 1)
		case strings.HasPrefix(strings.TrimSpace(line), "["):
			return ""
		default:
			if m := reviewerLine().FindStringSubmatch(line); m != nil {
				return m[1]
			}
		}
	}
	return ""
}
