package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

// setRecipients addresses a pending question to ada and grace. The people in awaiting have
// not voted.
func (h *testHub) setRecipients(id schema.EventID, awaiting ...string) {
	h.t.Helper()
	_, err := h.transition(h.t.Context(), id, func(a *question.Snapshot) (*store.Change, error) {
		st := a.Status
		st.Recipients, st.Awaiting = []string{"ada", "grace"}, awaiting
		return statusChange(a, st)
	})
	require.NoError(h.t, err)
}

// TestInbox_FiltersWaitingOnMe: a question waits on the recipients who have not voted. If
// it has no recipients, it waits on everyone who may answer.
func TestInbox_FiltersWaitingOnMe(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	open, _ := h.ask(pullQuestion)
	both, _ := h.ask(pullQuestion)
	one, _ := h.ask(pullQuestion)
	h.setRecipients(both, "ada", "grace")
	h.setRecipients(one, "ada", "grace")
	h.setRecipients(one, "grace")
	for name, c := range map[string]struct {
		who  auth.Identity
		want []schema.EventID
	}{
		"unauthenticated": {auth.Identity{}, []schema.EventID{open}},
		"ada":             {auth.Identity{Name: "ada", Role: schema.Operator, Via: "session"}, []schema.EventID{both, open}},
		"grace":           {auth.Identity{Name: "grace", Role: schema.Admin, Via: "session"}, []schema.EventID{one, both, open}},
		"a viewer":        {auth.Identity{Name: "grace", Role: schema.Viewer, Via: "session"}, nil},
		"an agent":        {auth.Identity{Name: "grace", Agent: true, Via: "token"}, nil},
	} {
		page, err := h.query.Requests(t.Context(), query.InboxQuery{WaitingOnMe: true, InboxFilter: store.InboxFilter{Limit: 9}}, c.who)
		require.NoError(t, err)
		var got []schema.EventID
		for _, r := range page.Requests {
			require.True(t, r.WaitingOnMe, name)
			got = append(got, r.RequestID)
		}
		require.Equal(t, c.want, got, name)
		st, err := h.query.HitlStats(t.Context(), query.StatsRange{Days: 1, Zone: time.UTC}, c.who)
		require.NoError(t, err)
		require.EqualValues(t, len(c.want), st.WaitingOnMe, name)
		all, err := h.query.Requests(t.Context(), query.InboxQuery{InboxFilter: store.InboxFilter{Limit: 9}}, c.who)
		require.NoError(t, err)
		mine := 0
		for _, r := range all.Requests {
			if r.WaitingOnMe {
				mine++
			}
		}
		require.Equal(t, len(c.want), mine, name)
	}
}

// newCrowdedHub returns a hub with 10,000 pending requests of 20 agents.
func newCrowdedHub(b *testing.B) *Hub {
	s := storetest.Open(b, storetest.Options{Fast: true})
	h := New(Config{Store: s, Feed: feed.New(s.Head(), 64, 1<<20)})
	q := json.RawMessage(`{"question":"May I run the tests of this package once more?","type":"permission","timeout":86400,` +
		`"toolCall":{"name":"Bash","arguments":{"command":"go test ./..."}},"context":{"cwd":"/home/dev/app","userPrompt":"Make it green."}}`)
	st := []byte(`{"status":"pending","expiresAt":1900000000000,"revision":1,"waiter":"listening","risk":"low"}`)
	drafts := make([]*store.EventDraft, 10_000)
	for i := range drafts {
		uid, _ := uuid.NewV7()
		drafts[i] = &store.EventDraft{
			Event: store.Event{
				UID: uid.String(), App: fmt.Sprint("agent-", i%20), Session: fmt.Sprint("s", i%100), Type: "PreToolUse", Tool: "Bash",
				Envelope: []byte(`"source_app":"a"`), Payload: []byte(`{"cwd":"/home/dev/app"}`), Question: q, Status: st,
			},
			NewQuestion: &store.NewQuestion{Deadline: time.Now().Add(time.Hour), Text: "May I?"},
		}
		if i%2 == 1 {
			drafts[i].Status = []byte(`{"status":"pending","expiresAt":1900000000000,"revision":1,"waiter":"listening","risk":"low",` +
				`"recipients":["ada","grace"],"awaiting":["ada","grace"]}`)
		}
	}
	for i := 0; i < len(drafts); i += 1000 {
		for _, r := range s.AppendAll(b.Context(), drafts[i:i+1000]) {
			require.NoError(b, r.Err)
		}
	}
	return h
}

// BenchmarkInbox reads the first page and the figures of an inbox with 10,000 pending
// requests.
func BenchmarkInbox(b *testing.B) {
	h := newCrowdedHub(b)
	q := query.New(query.Config{Store: h.Store})
	ada := auth.Identity{Name: "ada", Role: schema.Operator, Via: "session"}
	first := store.InboxFilter{Status: inbox.HitlPending, Limit: 50}
	some := first
	some.Agents = []string{"agent-1", "agent-7", "agent-11"}
	for name, read := range map[string]func(context.Context) error{
		"first page": func(ctx context.Context) error {
			_, err := q.Requests(ctx, query.InboxQuery{InboxFilter: first}, ada)
			return err
		},
		"of agents": func(ctx context.Context) error {
			_, err := q.Requests(ctx, query.InboxQuery{InboxFilter: some}, ada)
			return err
		},
		"waiting on me": func(ctx context.Context) error {
			_, err := q.Requests(ctx, query.InboxQuery{InboxFilter: first, WaitingOnMe: true}, ada)
			return err
		},
		"of agents, waiting on me": func(ctx context.Context) error {
			_, err := q.Requests(ctx, query.InboxQuery{InboxFilter: some, WaitingOnMe: true}, ada)
			return err
		},
		"stats": func(ctx context.Context) error {
			_, err := q.HitlStats(ctx, query.StatsRange{Days: 14, Zone: time.UTC}, ada)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := read(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestInbox_ShowsQuorumProgress follows a quorum of two out of three through the inbox API:
// pending voters, votes with comments, a voter added by escalation, and the outcome.
func TestInbox_ShowsQuorumProgress(t *testing.T) {
	t.Parallel()
	h := newClockedHub(t)
	h.setPeople("ada", "grace", "linus")
	id, _ := h.ask(`{"question":"Deploy?","type":"permission","timeout":3600,"requiredApprovals":2,
		"recipients":{"mode":"selected_members","members":["ada","grace"]},
		"escalateAfterSeconds":600,"escalateTo":{"mode":"selected_members","members":["linus","grace"]},
		"reminderIntervalSeconds":300,"reminderMaxCount":20}`)
	vote := func(name, choice string) inbox.HitlRequest {
		require.NoError(t, h.castVote(id, &inbox.HitlVote{Choice: choice, Comment: "says " + name}, h.as(name)), name)
		r, err := h.query.Request(t.Context(), id, h.as(name).Identity)
		require.NoError(t, err, name)
		return r
	}
	waits := func(name string) bool {
		page, err := h.query.Requests(t.Context(), query.InboxQuery{WaitingOnMe: true, InboxFilter: store.InboxFilter{Limit: 9}}, h.as(name).Identity)
		require.NoError(t, err)
		st, err := h.query.HitlStats(t.Context(), query.StatsRange{Days: 1, Zone: time.UTC}, h.as(name).Identity)
		require.NoError(t, err)
		require.EqualValues(t, len(page.Requests), st.WaitingOnMe)
		return len(page.Requests) == 1
	}
	require.True(t, waits("ada"))
	require.False(t, waits("linus"))

	r := vote("ada", "approve")
	require.Equal(t, inbox.HitlPending, r.Status)
	require.Equal(t, 2, r.RequiredApprovals)
	require.Equal(t, []string{"ada", "grace"}, r.Recipients)
	require.Equal(t, []string{"grace"}, r.Awaiting)
	require.Equal(t, []schema.Vote{{User: "ada", Choice: "approve", Comment: "says ada", At: schema.Millis(clockedStart.UnixMilli())}}, r.Votes)
	require.False(t, r.WaitingOnMe)
	require.False(t, waits("ada"))

	h.advance(300 * time.Second)
	require.Equal(t, 1, h.status(id).Reminders, "only the pending voters are reminded")
	err := h.castVote(id, &inbox.HitlVote{Choice: "deny"}, h.as("linus"))
	require.ErrorIs(t, err, schema.ErrNotAllowed, "linus is not a recipient yet")
	h.advance(300 * time.Second)
	require.True(t, waits("linus"))
	require.Equal(t, inbox.HitlPending, vote("linus", "deny").Status, "one vote each, and grace is pending")
	r = vote("grace", "approve")
	require.Equal(t, inbox.HitlDecided, r.Status)
	require.Equal(t, schema.Approve, r.Outcome)
	require.Equal(t, schema.ByQuorum, r.Source)
	require.Equal(t, "grace", r.DecidedBy)
	require.Len(t, r.Votes, 3)
	require.Empty(t, r.Awaiting)
	require.False(t, waits("grace"))
	h.advance(time.Hour)
	require.Equal(t, inbox.HitlDecided, vote("grace", "approve").Status, "the same vote again")
}

// castVote answers in the terms of the inbox.
func (h *testHub) castVote(id schema.EventID, v *inbox.HitlVote, caller Caller) error {
	h.t.Helper()
	r, err := h.query.VoteResponse(h.t.Context(), id, v)
	if err == nil {
		_, err = h.Respond(h.t.Context(), id, r, caller)
	}
	return err
}
