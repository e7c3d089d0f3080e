package hub

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/store"
)

func (h *testHub) freezeAll() control.Freeze {
	h.t.Helper()
	f, created, err := h.Freeze(h.t.Context(), &control.FreezeDraft{Scope: control.FreezeAll, Reason: "prod incident"}, Caller{})
	require.NoError(h.t, err)
	require.True(h.t, created)
	return f
}

func (h *testHub) unfreeze(f control.Freeze) {
	h.t.Helper()
	_, err := h.Unfreeze(h.t.Context(), f.ID, Caller{})
	require.NoError(h.t, err)
}

// hookCaller is a gate hook that applies a freeze.
func hookCaller() Caller { return Caller{Accepts: &control.Accepts{Freeze: true}} }

const toolStart = `{"source_app":"a","session_id":"s","hook_event_type":"PreToolUse","tool_name":"Bash","payload":{"tool_name":"Bash","tool_input":{"command":"ls"}}}`

func TestFreeze_ReachesEveryGateHookUntilLifted(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	directive := func(app, session string) *control.Directive {
		body := strings.NewReplacer(`"a"`, `"`+app+`"`, `"s"`, `"`+session+`"`).Replace(toolStart)
		saved, err := h.Ingest(t.Context(), []byte(body), hookCaller())
		require.NoError(t, err)
		return saved.Directive
	}
	require.Nil(t, directive("a", "s"))
	all := h.freezeAll()
	require.Equal(t, &control.FreezeNotice{ID: all.ID, Scope: control.FreezeAll, By: "local user", Reason: "prod incident"}, directive("a", "s").Freeze)
	again, created, err := h.Freeze(t.Context(), &control.FreezeDraft{Scope: control.FreezeAll, Reason: "another"}, Caller{})
	require.NoError(t, err)
	require.False(t, created, "a second person freezes the same agents")
	require.Equal(t, all, again)
	saved, err := h.Ingest(t.Context(), []byte(toolStart), Caller{})
	require.NoError(t, err)
	require.Nil(t, saved.Directive, "an older hook")
	h.unfreeze(all)
	require.Nil(t, directive("a", "s"))

	for scope, d := range map[string]control.FreezeDraft{
		"app":     {Scope: control.FreezeApp, SourceApp: "a"},
		"session": {Scope: control.FreezeSession, SourceApp: "a", SessionID: "s"},
	} {
		f, _, err := h.Freeze(t.Context(), &d, Caller{})
		require.NoError(t, err)
		require.NotNil(t, directive("a", "s"), scope)
		require.Equal(t, scope == "app", directive("a", "other") != nil, scope)
		require.Nil(t, directive("b", "s"), scope)
		h.unfreeze(f)
	}
}

func TestFreeze_ApprovesNothing(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	pending, _ := h.ask(forcePush)
	undoable, _ := h.ask(strings.Replace(forcePush, "force", "tags", 1))
	plain, _ := h.ask(`{"question":"Go on?","type":"permission"}`)
	choice, _ := h.ask(`{"question":"Which?","type":"choice","choices":["a","b"]}`)
	held := approval()
	held.HoldMS = schema.MaxHold.Milliseconds()
	_, err := h.Respond(t.Context(), undoable, held, Caller{})
	require.NoError(t, err)

	f := h.freezeAll()
	st := h.status(undoable)
	require.Equal(t, schema.Pending, st.Status)
	require.Nil(t, st.Held, "the answer in its undo window is dropped")
	for id, r := range map[schema.EventID]*schema.Response{pending: approval(), undoable: held, choice: {Choice: ptr("a")}} {
		_, err := h.Respond(t.Context(), id, r, Caller{})
		require.ErrorIs(t, err, schema.ErrFrozen)
		require.Equal(t, 409, schema.ProblemOf(err).Status)
	}
	results, err := h.ApproveAll(t.Context(), &schema.Approvals{Requests: []schema.SeenRevision{{ID: plain, Revision: 1}}}, Caller{})
	require.NoError(t, err)
	require.Contains(t, string(results), `"code":"frozen"`)

	fresh, _ := h.ask(strings.Replace(forcePush, "force", "all", 1))
	st = h.status(fresh)
	require.Equal(t, schema.Deny, st.Outcome, "a new permission is denied at once")
	require.Equal(t, schema.ByFreeze, st.Source)
	require.Equal(t, "A local user froze all agents. Nothing ran. Wait for a person.", st.Response.Guidance)
	require.True(t, st.Response.Interrupt)
	require.NotContains(t, st.Response.Guidance, "prod incident", "any program can set the reason")

	no := false
	_, err = h.Respond(t.Context(), undoable, &schema.Response{Permission: &no}, Caller{})
	require.NoError(t, err, "denials work")
	h.unfreeze(f)
	_, err = h.Respond(t.Context(), pending, approval(), Caller{})
	require.NoError(t, err, "and approvals after the freeze")
}

func ptr[T any](v T) *T { return &v }

// The hub's names for callers that are no people begin with a small letter.
func TestFreeze_TextIsASentence(t *testing.T) {
	t.Parallel()
	for by, want := range map[string]string{
		"": "A person froze all agents.", "local user": "A local user froze all agents.", "agent build": "Agent build froze all agents.", "mara": "mara froze all agents.",
	} {
		n := control.FreezeNotice{Scope: control.FreezeAll, By: by}
		require.Equal(t, want, n.Text())
	}
}

func TestFreeze_SurvivesRestart(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	f := h.freezeAll()
	require.NoError(t, h.Store.(interface{ Close() error }).Close())
	h = openTestHub(t, h.path)
	list, err := h.Freezes(t.Context())
	require.NoError(t, err)
	require.Equal(t, []control.Freeze{f}, list.Freezes)
	saved, err := h.Ingest(t.Context(), []byte(toolStart), hookCaller())
	require.NoError(t, err)
	require.Equal(t, f.ID, saved.Directive.Freeze.ID)
	lifted, err := h.Unfreeze(t.Context(), f.ID, Caller{})
	require.NoError(t, err)
	require.Equal(t, "local user", lifted.LiftedBy)
	repeated, err := h.Unfreeze(t.Context(), f.ID, Caller{})
	require.NoError(t, err)
	require.Equal(t, lifted, repeated)
	_, err = h.Unfreeze(t.Context(), f.ID+1, Caller{})
	require.ErrorIs(t, err, schema.ErrNotFound)
}

func TestFreeze_CleansTheReason(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	hostile := "stop\x00\n\u202e<b>now</b>\u200b\r\n\u2028\"}]\xff"
	f, _, err := h.Freeze(t.Context(), &control.FreezeDraft{Scope: control.FreezeAll, Reason: hostile}, Caller{})
	require.NoError(t, err)
	require.Equal(t, `stop <b>now</b> "}]`, f.Reason)
	for name, d := range map[string]control.FreezeDraft{
		"no scope":                 {},
		"unknown scope":            {Scope: "everyone"},
		"all with an app":          {Scope: control.FreezeAll, SourceApp: "a"},
		"app without its name":     {Scope: control.FreezeApp},
		"app with a session":       {Scope: control.FreezeApp, SourceApp: "a", SessionID: "s"},
		"session without its name": {Scope: control.FreezeSession, SourceApp: "a"},
		"long reason":              {Scope: control.FreezeAll, Reason: strings.Repeat("x", control.MaxFreezeReason+1)},
	} {
		_, _, err := h.Freeze(t.Context(), &d, Caller{})
		require.ErrorIs(t, err, schema.ErrInvalid, name)
	}
}

func TestFreeze_IsInTheLedger(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.unfreeze(h.freezeAll())
	var actions []string
	for _, e := range h.ledger() {
		actions = append(actions, e.Action)
	}
	require.Equal(t, []string{"freeze.made", "freeze.lifted"}, actions)
}

func (h *testHub) ledger() (entries []sign.LedgerEntry) {
	h.t.Helper()
	raw, err := h.Store.Ledger(h.t.Context(), store.LedgerPage{Oldest: true, Limit: 1 << 20})
	require.NoError(h.t, err)
	for _, text := range raw {
		var e sign.LedgerEntry
		require.NoError(h.t, json.Unmarshal(text, &e))
		entries = append(entries, e)
	}
	return entries
}

// Every approval that was accepted was accepted between two freezes: a store that is frozen
// commits none, however many people answer at the same time.
func TestFreeze_ManyUnderLoad(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	const rounds = 100
	ids := make([]schema.EventID, rounds)
	for i := range ids {
		ids[i], _ = h.ask(strings.Replace(forcePush, "force", fmt.Sprint("f", i), 1))
	}
	for i, id := range ids {
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = h.Respond(t.Context(), id, approval(), Caller{}) })
		wg.Go(func() { _, _ = h.Ingest(t.Context(), []byte(toolStart), hookCaller()) })
		f := h.freezeAll()
		before := h.status(ids[(i+1)%rounds]).Status
		_, err := h.Respond(t.Context(), ids[(i+1)%rounds], approval(), Caller{})
		require.Error(t, err)
		require.Equal(t, before, h.status(ids[(i+1)%rounds]).Status)
		wg.Wait()
		h.unfreeze(f)
	}
	var frozen bool
	for _, e := range h.ledger() {
		switch e.Action {
		case "freeze.made":
			require.False(t, frozen)
			frozen = true
		case "freeze.lifted":
			require.True(t, frozen)
			frozen = false
		case "question.ended":
			require.False(t, frozen, "an approval during a freeze")
		}
	}
	require.Empty(t, h.Store.ActiveFreezes())
}

func TestFreeze_CountsSessions(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(c *Config) { c.Clock = time.Now })
	f := h.freezeAll()
	_, err := h.Ingest(t.Context(), []byte(toolStart), hookCaller())
	require.NoError(t, err)
	h.post(strings.Replace(toolStart, `"s"`, `"observed"`, 1))
	list, err := h.Freezes(t.Context())
	require.NoError(t, err)
	require.Equal(t, [2]int{1, 1}, [2]int{list.Stopped, list.Uncontrolled})
	h.unfreeze(f)
	list, err = h.Freezes(t.Context())
	require.NoError(t, err)
	require.Equal(t, control.FreezeList{Freezes: []control.Freeze{}}, list)
}

// Two hooks of one call share an idempotency key: the command, and the http hook or another
// settings file. A freeze reaches each of them, whichever comes first.
func TestFreeze_ReachesTheSecondHookOfACall(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	f := h.freezeAll()
	first := strings.Replace(toolStart, `{`, `{"idempotency_key":"hook/1","reason":"none",`, 1)
	_, err := h.Ingest(t.Context(), []byte(first), Caller{})
	require.NoError(t, err)
	second := strings.Replace(first, `"reason":"none"`, `"reason":"policy"`, 1)
	saved, err := h.Ingest(t.Context(), []byte(second), hookCaller())
	require.NoError(t, err)
	require.Equal(t, &control.Directive{Freeze: f.Notice()}, saved.Directive)
	h.unfreeze(f)
	_, err = h.Ingest(t.Context(), []byte(second), hookCaller())
	require.ErrorIs(t, err, schema.ErrKeyConflict)
}

// A hook that could not reach the hub sends its event later. The list counts the calls that ran
// meanwhile, and none that began before the freeze or that the hook denied by itself.
func TestFreeze_CountsUncheckedCalls(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	f := h.freezeAll()
	late := func(at schema.Millis, more string) {
		_, _, err := h.IngestBatch(t.Context(), fmt.Appendf(nil, `[{"source_app":"a","session_id":"s","hook_event_type":"PreToolUse",
			"tool_name":"Bash","payload":{},"timestamp":%d%s}]`, at, more), Caller{})
		require.NoError(t, err)
	}
	late(f.CreatedAt-1, "")
	late(f.CreatedAt+1, `,"hook":{"verdict":"deny","by":"freeze"}`)
	list, err := h.Freezes(t.Context())
	require.NoError(t, err)
	require.Equal(t, [3]int{1, 0, 0}, [3]int{list.Stopped, list.Uncontrolled, list.Unchecked})
	late(f.CreatedAt+2, "")
	late(f.CreatedAt+3, "")
	list, err = h.Freezes(t.Context())
	require.NoError(t, err)
	require.Equal(t, [3]int{1, 0, 2}, [3]int{list.Stopped, list.Uncontrolled, list.Unchecked})
	h.unfreeze(f)
	f = h.freezeAll()
	list, err = h.Freezes(t.Context())
	require.NoError(t, err)
	require.Zero(t, list.Unchecked)
	h.unfreeze(f)
}
