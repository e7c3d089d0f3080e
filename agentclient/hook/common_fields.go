package hook

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/paths"
	"github.com/hookback/hookback/agentclient/project"
	"github.com/hookback/hookback/schema"
)

// setOrigin sets the fields that every event has: the event type by Claude Code's
// name, the session, and the source app. The app is named after the first usable
// directory in dirs, so callers pass the most specific one first. An empty event is an
// error of the call.
func (c *Call) setOrigin(event, session string, dirs ...string) {
	if event == "" {
		c.err = fmt.Errorf("%w: no event name", ErrInput)
	}
	c.Event.HookEventType = clip(event, schema.MaxName)
	for i := range dirs {
		if c.mainDir != nil {
			dirs[i] = c.mainDir(dirs[i])
		}
	}
	c.Event.SourceApp = cmp.Or(project.Name(schema.MaxName, dirs...), c.Event.Agent)
	// An event without a session is rejected by the hub, and its call would run unchecked.
	c.Event.SessionID = cmp.Or(clip(session, schema.MaxName), clip(c.Event.Agent+" in "+c.Event.SourceApp, schema.MaxName))
}

// callPaths are the members in which agents name the file or the directory of a call.
var callPaths = []string{
	"file_path", "filePath", "path", "absolute_path", "AbsolutePath", "TargetFile", "target_file", "notebook_path",
	"working_directory", "workingDirectory", "Cwd", "cwd",
}

// setRoots sets the folders of the agent's workspace. It returns the folder that contains the file or the
// directory of the call, which is in one of the objects, or else the first folder.
func (c *Call) setRoots(folders []json.RawMessage, calls ...object) (project string) {
	for _, raw := range folders {
		if root := stringValue(raw); root != "" {
			c.Roots = append(c.Roots, root)
		}
	}
	for _, call := range calls {
		for _, name := range callPaths {
			for _, root := range c.Roots { // of nested ones, the innermost
				if len(root) > len(project) && paths.IsWithin(paths.Join("", call.text(name)), paths.Join("", root)) {
					project = root
				}
			}
			if project != "" {
				return project
			}
		}
	}
	if len(c.Roots) > 0 {
		return c.Roots[0]
	}
	return ""
}

// setDetails sets the fields that o has under Claude Code's names, the summary, and
// the timestamp, which Claude Code itself doesn't send.
func (c *Call) setDetails(o object) {
	copyCommonFields(&c.Event, o)
	c.Event.Timestamp = o.timestamp("timestamp")
	c.Event.Summary = eventText(o)
}

// CallKey returns the idempotency key of an event of a tool call, or "" if the call has no id. Agents merge
// the settings of several places, so two hooks can report one event. They read the same input, and share
// the key. A repeated id is not enough: some models use the same ids in each turn.
func CallKey(e *schema.Event) string {
	if e.ToolUseID == "" {
		return ""
	}
	h := sha256.New()
	for _, part := range []string{e.Agent, e.SessionID, e.HookEventType, e.ToolUseID} {
		_, _ = io.WriteString(h, part+"\x00") // a hash never fails
	}
	_, _ = h.Write(e.Payload)
	return "hook/" + hex.EncodeToString(h.Sum(nil))
}

// eventText returns a one-line summary of an event that has no tool call.
func eventText(o object) string {
	for _, name := range []string{"message", "last_assistant_message", "prompt_response", "assistant_response", "prompt", "error", "reason", "title", "source", "trigger", "agent_type"} {
		if s := oneLine(o.text(name), maxSummary); s != "" {
			return s
		}
	}
	return ""
}

// timestamp returns a time in Unix milliseconds, or 0 if there is none. Agents write
// ISO 8601 or milliseconds, as a number or a string.
func (o object) timestamp(name string) schema.Millis {
	var m schema.Millis
	text := o.text(name)
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		text = strconv.FormatInt(t.UnixMilli(), 10)
	}
	if json.Unmarshal([]byte(cmp.Or(text, string(o[name]))), &m) != nil || m < 0 {
		return 0
	}
	return m
}

// isHeadless reports whether the environment states that no one is at the agent's
// terminal. Most agents don't pass this to their hooks.
func (in Input) isHeadless() bool {
	value := in.env("HOOKBACK_HEADLESS")
	return value != "" && value != "0" || in.env("CI") == "true" || in.env("GITHUB_ACTIONS") == "true"
}

// isInteractive reports whether the agent certainly runs on an interactive terminal.
// It is not the opposite of isHeadless: without evidence both are false. The
// difference matters for agents whose unanswered prompt hangs or approves the call.
func (in Input) isInteractive(args ...string) bool {
	return !in.isHeadless() && (in.env("HOOKBACK_HEADLESS") == "0" || in.IsInteractive != nil && in.IsInteractive(args...))
}

func (in Input) env(name string) string {
	if in.Env == nil {
		return ""
	}
	return in.Env(name)
}

// interactiveHint is the instruction for agents whose terminal can't be detected.
const interactiveHint = " If a person is at this agent's prompt, start the agent with HOOKBACK_HEADLESS=0 in its environment; it then asks there."

// unknownTool replaces a missing tool name, so that such a call is still gated.
const unknownTool = call.UnknownTool

// setMCPTool sets the alias of an MCP tool, whose name in the agent is less specific. The event and its
// question carry the alias, because the hub sees neither the server nor this agent's way to name it.
func (c *Call) setMCPTool(server, tool string) {
	if server == "" || tool == "" {
		return
	}
	c.Alias, c.mcpServer = "mcp__"+server+"__"+tool, server
	c.Event.ToolName = clip(c.Alias, schema.MaxName)
	c.Event.Summary = c.summaryLine()
}

// encodeReply returns a reply with an object on stdout, as encodeMembers writes it.
func encodeReply(pairs ...any) Reply { return Reply{Stdout: encodeMembers(pairs...)} }

// denialReason returns the reason of a denial, and "" for any other effect.
func (v Verdict) denialReason() string {
	if v.Effect != Deny {
		return ""
	}
	return v.Reason
}
