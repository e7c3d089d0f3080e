package sessions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/store"
)

// call posts an event of a tool call of session s and returns its id. members are those of its payload
// after tool_name.
func (h *testHub) call(typ, useID, tool, members string) schema.EventID {
	h.t.Helper()
	return h.post(fmt.Sprintf(`{"source_app":"a","session_id":"s","hook_event_type":%q,"payload":{"tool_use_id":%q,"tool_name":%q%s}}`, typ, useID, tool, members)).ID
}

func input(arguments string) string { return `,"tool_input":` + arguments }

func (h *testHub) files() history.SessionFiles {
	h.t.Helper()
	h.catchUp(h.newProjector())
	files, err := h.Files(h.t.Context(), store.SessionKey{App: "a", Session: "s"})
	require.NoError(h.t, err)
	return files
}

func TestFiles_CountsWhatRan(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	edit := `{"file_path":"/src/list.go","old_string":"a\nb\nc","new_string":"a\nB\nc\nd"}`
	first := h.call("PostToolUse", "t1", "Edit", input(edit))
	h.call("PostToolUse", "t1", "Edit", input(edit)) // reported twice
	h.call("PostToolUseFailure", "t2", "Edit", input(edit)+`,"error":"String to replace not found"`)
	h.call("PostToolUseFailure", "t3", "Write", input(`{"file_path":"/src/interrupted.go","content":"x"}`)+`,"is_interrupt":true`)
	h.call("PreToolUse", "t4", "Write", input(`{"file_path":"/src/denied.go","content":"x"}`)) // never ran
	h.call("PostToolUse", "t5", "Read", input(`{"file_path":"/src/read.go"}`))
	written := h.call("PostToolUse", "t6", "Write", input(`{"file_path":"/src/new.go","content":"`+strings.Repeat(`line\n`, 90_000)+`"}`)) // listed without its payload
	started := h.call("PreToolUse", "t7", "apply_patch", input(`{"input":"*** Begin Patch\n*** Update File: /src/list.go\n@@\n-a\n+b\n+c\n*** Delete File: old.go\n*** End Patch"}`))
	h.call("PostToolUse", "t7", "apply_patch", "") // its end has no arguments
	at := func(id schema.EventID) schema.Millis {
		e, _, err := h.Store.Event(t.Context(), id)
		require.NoError(t, err)
		return schema.Millis(e.ReceivedAt.UnixMilli())
	}
	files := h.files()
	for i := range files.Files {
		require.NotZero(t, files.Files[i].LastAt)
	}
	files.Files[2].LastAt = at(written)
	files.Files[0].LastAt, files.Files[1].LastAt = 0, 0
	require.Equal(t, history.SessionFiles{Files: []history.ChangedFile{
		{Path: "/src/list.go", Change: "edited", Added: 4, Removed: 2, Calls: 2, Events: []schema.EventID{started, first}},
		{Path: "old.go", Change: "deleted", Calls: 1, Events: []schema.EventID{started}},
		{Path: "/src/new.go", Change: "written", Added: 90_000, Calls: 1, Events: []schema.EventID{written}, LastAt: at(written)},
	}}, files)
}

// Some models use the same id for a call of each turn.
func TestFiles_CountsCallsWithTheSameID(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	for i := range 3 {
		write := input(fmt.Sprintf(`{"file_path":"f%d","content":"x"}`, i))
		h.call("PreToolUse", "Write:0", "Write", write)
		h.call("PostToolUse", "Write:0", "Write", write)
	}
	require.Len(t, h.files().Files, 3)
}

func TestFiles_AreLimited(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	for i := range history.MaxFiles + 3 {
		h.call("PostToolUse", fmt.Sprint("t", i), "Write", input(fmt.Sprintf(`{"file_path":"f%d","content":"x"}`, i)))
	}
	for i := range history.MaxFileEdits + 5 {
		h.call("PostToolUse", fmt.Sprint("e", i), "Edit", input(`{"file_path":"often","old_string":"a","new_string":"b"}`))
	}
	files := h.files()
	require.Len(t, files.Files, history.MaxFiles)
	require.EqualValues(t, 4, files.More)
	require.Equal(t, "often", files.Files[0].Path)
	require.Len(t, files.Files[0].Events, history.MaxFileEdits)
	require.EqualValues(t, history.MaxFileEdits+5, files.Files[0].Calls)
	require.Greater(t, files.Files[0].Events[0], files.Files[0].Events[1], "newest first")
	_, err := h.Files(t.Context(), store.SessionKey{App: "a", Session: "unknown"})
	require.ErrorIs(t, err, schema.ErrNotFound)
}
