package hookrun

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/plaintext"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// reportPolicy sends the policy files that apply to a session that starts: the hub can't read them. The
// hook has answered its agent before, and changes c. A session that starts again sends them only if they
// changed.
func (h *hookRun) reportPolicy(c *hook.Call) {
	if h.observe || c.Event.HookEventType != "SessionStart" {
		return
	}
	report := h.policyReport(c)
	if report.Files == nil {
		return
	}
	e := &c.Event
	e.HookEventType, e.Summary, e.Chat, e.Extra = control.PolicyEvent, "", nil, nil
	e.Payload, _ = json.Marshal(report)    // strings always encode
	if len(e.Payload) > schema.MaxListed { // many characters are escaped, and the hub would not read it
		for i := range report.Files {
			report.Files[i].Text = ""
		}
		e.Payload, _ = json.Marshal(report)
	}
	e.ToolUseID = hashOf(e.Payload)
	e.IdempotencyKey, e.ToolUseID = idempotencyKey(e), ""
	c.Capabilities = 0 // messages are for events of the agent
	_, finish := h.send(c)
	finish()
}

// policyReport reads the policy files that apply to a call.
func (h *hookRun) policyReport(c *hook.Call) (report control.PolicyReport) {
	var listed []string
	room := control.MaxPolicyReport
	report.Host, _ = os.Hostname()
	for _, dir := range h.policyDirs(c) {
		report.Cwd = cmp.Or(report.Cwd, dir)
		source := h.policySource(dir)
		for _, path := range source.Files() {
			if _, err := os.Lstat(path); slices.Contains(listed, path) || errors.Is(err, fs.ErrNotExist) {
				continue
			}
			listed = append(listed, path)
			f := control.PolicyFile{Origin: "project", Path: path}
			if source.MayAllow(path) {
				f.Origin = "user"
			}
			if text, err := plaintext.ReadPolicy(path); err != nil {
				f.Problem = err.Error()
			} else if f.SHA256 = hashOf(text); len(text) <= room {
				f.Text, room = string(text), room-len(text)
			}
			report.Files = append(report.Files, f)
		}
	}
	return report
}
