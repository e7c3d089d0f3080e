package conformance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// questionAboutCall returns a question about the given call; empty: none.
func questionAboutCall(app, call string) *store.EventDraft {
	d := NewQuestionDraft("s", ClockStart)
	d.App = app
	if call != "" {
		d.NewQuestion.Call = []byte(call)
	}
	return d
}

func (b *Harness) resolve(t *testing.T, id schema.EventID, state schema.State, outcome schema.Outcome) {
	t.Helper()
	q, err := b.Question(t.Context(), id)
	require.NoError(t, err)
	require.NoError(t, b.Apply(t.Context(), store.Change{
		Event: &q.Event, Version: q.Version, State: state, Ends: true,
		Status: fmt.Appendf(nil, `{"status":%q,"outcome":%q}`, state, outcome),
	}))
}

func (s suite) TestEarlierOutcomes_ListsSameCallNewestFirst(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	for _, d := range []*store.EventDraft{
		questionAboutCall("app", "A"), questionAboutCall("app", "A"), questionAboutCall("app", "B"), questionAboutCall("other", "A"), questionAboutCall("app", ""), questionAboutCall("app", "A"), questionAboutCall("app", "A"), questionAboutCall("app", ""), questionAboutCall("app", "A"),
	} {
		b.MustAppend(t, d)
	}
	earlier := func(id schema.EventID) []store.EarlierOutcome {
		list, err := b.EarlierOutcomes(t.Context(), id)
		require.NoError(t, err)
		return list
	}
	require.Empty(t, earlier(7), "all are pending")
	b.resolve(t, 1, schema.Responded, schema.Approve)
	b.resolve(t, 2, schema.Responded, schema.Deny)
	b.resolve(t, 3, schema.Responded, schema.Deny)
	b.resolve(t, 4, schema.Responded, schema.Deny)
	b.resolve(t, 5, schema.Responded, schema.Deny)
	b.resolve(t, 6, schema.TimedOut, schema.Timeout)
	b.resolve(t, 9, schema.Responded, schema.Approve)
	require.Equal(t, []store.EarlierOutcome{{ID: 6, Outcome: schema.Timeout}, {ID: 2, Outcome: schema.Deny}, {ID: 1, Outcome: schema.Approve}}, earlier(7), "newest first; no later questions, other calls or other applications")
	require.Empty(t, earlier(1))
	require.Empty(t, earlier(8), "a question without a call")
	require.Empty(t, earlier(404))
}
