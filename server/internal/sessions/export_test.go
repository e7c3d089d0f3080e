package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/store"
)

// exportSession returns the complete export of a session.
func (h *testHub) exportSession(app, session string, markdown bool) string {
	h.t.Helper()
	h.catchUp(h.newProjector())
	r, err := h.Export(h.t.Context(), store.SessionKey{App: app, Session: session}, markdown)
	require.NoError(h.t, err)
	text, err := io.ReadAll(r)
	require.NoError(h.t, err)
	return string(text)
}

// TestExport_IsComplete: the export spans several pages, includes big payloads in full and
// has no events of other sessions.
func TestExport_IsComplete(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	const events = exportPage + 30
	big := strings.Repeat("x", schema.MaxListed)
	for i := range events {
		payload := fmt.Sprintf(`{"n":%d}`, i)
		if i == 3 {
			payload = `{"n":3,"big":"` + big + `"}`
		}
		h.post(fmt.Sprintf(`{"source_app":"a","session_id":"s","hook_event_type":"Stop","payload":%s,"chat":[%d]}`, payload, i))
		if i%50 == 0 {
			h.post(`{"source_app":"b","session_id":"s","hook_event_type":"Stop","payload":{}}`)
			h.post(`{"source_app":"a","session_id":"t","hook_event_type":"Stop","payload":{}}`)
		}
	}
	lines := strings.Split(strings.TrimSuffix(h.exportSession("a", "s", false), "\n"), "\n")
	require.Len(t, lines, events)
	for i, line := range lines {
		e := decodeEvent(t, []byte(line))
		require.Equal(t, "s", e.SessionID)
		var payload struct {
			N   int    `json:"n"`
			Big string `json:"big"`
		}
		require.NoError(t, json.Unmarshal(e.Payload, &payload))
		require.Equal(t, i, payload.N)
		require.Equal(t, i == 3, payload.Big == big)
		require.False(t, e.PayloadTruncated)
		require.Equal(t, i == events-1, e.Chat != nil, "each transcript includes the earlier ones, so only the newest is exported")
	}
}

func TestExport_StopsAtStartingHead(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.post(`{"source_app":"a","session_id":"s","hook_event_type":"One","payload":{}}`)
	h.catchUp(h.newProjector())
	key := store.SessionKey{App: "a", Session: "s"}
	r, err := h.Export(t.Context(), key, false)
	require.NoError(t, err)
	h.post(`{"source_app":"a","session_id":"s","hook_event_type":"Two","payload":{}}`)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), "\n"), "events after the start of the export are left out")

	_, err = h.Export(t.Context(), store.SessionKey{App: "a", Session: "none"}, true)
	require.ErrorIs(t, err, schema.ErrNotFound)
	ctx, cancel := context.WithCancel(t.Context())
	r, err = h.Export(ctx, key, false)
	require.NoError(t, err)
	cancel()
	_, err = io.ReadAll(r)
	require.ErrorIs(t, err, context.Canceled, "a canceled download must not look complete")
}

// hostileText has Markdown and HTML markup, code fences, and invisible characters.
const hostileText = "# h\n- l\n> q\n1. n\n```\n~~~\n````\n<script>alert(1)</script> [x](javascript:1) ![i](http://e/i) **b** _e_ `c` |t| &lt; \\ www.e.org\r\n\u202e\u200b\u0007\u2028end"

func TestReport_EscapesMarkup(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	quoted, err := json.Marshal(hostileText)
	require.NoError(t, err)
	all := strings.ReplaceAll(`{"source_app":H,"session_id":H,"hook_event_type":H,"tool_name":H,"agent_id":H,"error":H,"model_name":H,"parent_session_id":H,`+
		`"payload":{"cwd":H,"git_branch":H,"last_assistant_message":H,"message":H,"tool_input":{"command":H}},`+
		`"humanInTheLoop":{"question":H,"type":"choice","choices":[H],"toolCall":{"name":H,"arguments":{"x":H}}}}`, "H", string(quoted))
	all = strings.ReplaceAll(all, `\u0007`, "") // a name has no control characters
	saved := h.post(all)
	h.post(strings.Replace(all[:strings.Index(all, `,"humanInTheLoop"`)]+"}", `"hook_event_type":`+strings.ReplaceAll(string(quoted), `\u0007`, ""), `"hook_event_type":"UserPromptSubmit"`, 1))
	label := decodeEvent(t, saved.JSON).HumanInTheLoop.Choices[0]
	_, err = h.hub.Respond(t.Context(), saved.ID, &schema.Response{Choice: &label, Reason: hostileText, Comment: hostileText}, hub.Caller{})
	require.NoError(t, err)
	e := decodeEvent(t, saved.JSON)
	text := h.exportSession(e.SourceApp, e.SessionID, true)

	fence := ""
	for _, line := range strings.Split(text, "\n") {
		for _, r := range line {
			require.False(t, isInvisible(r), "%U in %q", r, line)
		}
		bare := strings.TrimRight(line, "`json")
		switch {
		case fence != "":
			if line == fence {
				fence = ""
			}
			continue
		case strings.HasPrefix(line, "```") && bare == "":
			fence = strings.TrimSuffix(line, "json")
			continue
		}
		for _, prefix := range []string{"# ", "## What happened", "- ", "| ", "|--"} {
			line = strings.TrimPrefix(line, prefix)
		}
		require.NotContains(t, strings.ReplaceAll(line, `\<`, ""), "<", "markup")
		require.NotContains(t, strings.ReplaceAll(line, "\\`", ""), "`", "code")
		require.NotContains(t, strings.ReplaceAll(line, `\[`, ""), "[", "a link")
		require.NotContains(t, line, "www.", "a link")
		require.NotRegexp(t, `^\s*(#|>|\d+\. |~~~)`, line, "a block")
	}
	require.Empty(t, fence, "every fence is closed")
	require.Contains(t, text, `[U+202E]`, "invisible characters are shown as code points")
	require.Contains(t, text, `\[U\+202E\]`)
}

func TestReport_ListsDecisions(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	text, choice, comment := "use the staging one", "left", "just this time"
	ask := func(question string, r *schema.Response) {
		id, _ := h.ask(question)
		if r == nil {
			return
		}
		_, err := h.hub.Respond(t.Context(), id, r, hub.Caller{})
		require.NoError(t, err)
	}
	edited := approval()
	edited.ModifiedArguments = json.RawMessage(`{"command":"ls build"}`)
	denied := denial()
	denied.Reason = "not on a Friday"
	ask(`{"question":"Delete it?","type":"permission","toolCall":{"name":"Bash","arguments":{"command":"rm -r build"},"editable":true}}`, edited)
	ask(`{"question":"Deploy?","type":"permission"}`, denied)
	ask(`{"question":"Which one?","type":"question"}`, &schema.Response{Response: &text})
	ask(`{"question":"Left or right?","type":"choice","choices":["left","right"]}`, &schema.Response{Choice: &choice, Comment: comment})
	ask(`{"question":"Still there?","type":"permission"}`, nil)
	cancelled, _ := h.ask(pullQuestion)
	_, err := h.hub.Cancel(t.Context(), cancelled, schema.Cancel{}, hub.Caller{})
	require.NoError(t, err)
	withdrawn, secret := h.ask(pullQuestion)
	_, err = h.hub.Cancel(t.Context(), withdrawn, schema.Cancel{RequestSecret: secret}, hub.Caller{})
	require.NoError(t, err)
	for _, reason := range []string{schema.ReasonOwnDeadline, schema.ReasonDismissed, schema.ReasonAgentGone} {
		id, secret := h.ask(pullQuestion)
		_, err = h.hub.Cancel(t.Context(), id, schema.Cancel{RequestSecret: secret, Reason: reason}, hub.Caller{})
		require.NoError(t, err)
	}
	one, _, err := h.Store.Event(t.Context(), 1)
	require.NoError(t, err)
	report := h.exportSession(one.App, one.Session, true)
	at := 0
	for _, want := range []string{
		"- Questions: 10, of which 1 are pending",
		"Delete it?", `To run Bash with`, `"command": "rm -r build"`, "**Approved** at", ", by local user.", "With changed arguments:", `"command": "ls build"`,
		"Deploy?", "**Denied** at", "not on a Friday",
		"Which one?", "**Answered** at", text,
		"Left or right?", `**Chosen\: left** at`, comment,
		"Still there?", "**Waiting for an answer.**",
		"**Canceled** at", "**Withdrawn by the agent** at",
		"**No one answered in time** at", "**Dismissed in the agent** at", "**The agent is gone** at",
	} {
		i := strings.Index(report[at:], want)
		require.GreaterOrEqual(t, i, 0, "%q after %q", want, report[at:])
		at += i
	}
}

// FuzzAppendBlock: no text can close its fence.
func FuzzAppendBlock(f *testing.F) {
	f.Add("```\n# out")
	f.Add("a\r\n````\r```")
	f.Fuzz(func(t *testing.T, text string) {
		block := string(appendFenced(nil, "", text))
		fence := block[:strings.IndexByte(block, '\n')]
		inside := strings.TrimSuffix(strings.TrimPrefix(block, fence+"\n"), "\n"+fence+"\n\n")
		require.GreaterOrEqual(t, len(fence), 3)
		require.NotContains(t, inside, fence)
		require.NotContains(t, inside, "\r")
	})
}

// TestExport_BoundsMemory: the buffer holds one event at a time, because a page of big
// events could exceed the machine's memory.
func TestExport_BoundsMemory(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	const events, size = 4, exportBuffer / 2 // together more than the bound
	h.appendEvents(events, `{"last_assistant_message":"`+strings.Repeat("x", size)+`"}`)
	h.catchUp(h.newProjector())
	for _, markdown := range []bool{false, true} {
		r, err := h.Export(t.Context(), store.SessionKey{App: "a", Session: "s"}, markdown)
		require.NoError(t, err)
		x := r.(*sessionExport)
		total, piece := 0, make([]byte, 64<<10)
		for {
			n, err := x.Read(piece)
			total += n
			require.LessOrEqual(t, len(x.buffer), exportBuffer+size+4<<10)
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
				break
			}
		}
		require.Greater(t, total, events*size)
	}
}
