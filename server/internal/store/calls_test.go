package store

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// about is a question about a call, named by a letter.
func about(app, call string) *EventDraft {
	d := question("s", began)
	d.App = app
	if call != "" {
		d.NewQuestion.Call = []byte(call)
	}
	return d
}

func (b *bench) end(t *testing.T, id schema.EventID, state schema.State, outcome schema.Outcome) {
	t.Helper()
	q, err := b.Question(t.Context(), id)
	require.NoError(t, err)
	require.NoError(t, b.Apply(t.Context(), Change{
		Event: &q.Event, Version: q.Version, State: state, Ends: true,
		Status: fmt.Appendf(nil, `{"status":%q,"outcome":%q}`, state, outcome),
	}))
}

func TestEarlierEndsOfTheSameCall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, d := range []*EventDraft{
		about("app", "A"), about("app", "A"), about("app", "B"), about("other", "A"), about("app", ""), about("app", "A"), about("app", "A"), about("app", ""), about("app", "A"),
	} {
		b.append(t, d)
	}
	earlier := func(id schema.EventID) []EarlierOutcome {
		list, err := b.EarlierOutcomes(t.Context(), id)
		require.NoError(t, err)
		return list
	}
	require.Empty(t, earlier(7), "none has ended")
	b.end(t, 1, schema.Responded, schema.Approve)
	b.end(t, 2, schema.Responded, schema.Deny)
	b.end(t, 3, schema.Responded, schema.Deny)
	b.end(t, 4, schema.Responded, schema.Deny)
	b.end(t, 5, schema.Responded, schema.Deny)
	b.end(t, 6, schema.TimedOut, schema.Timeout)
	b.end(t, 9, schema.Responded, schema.Approve)
	require.Equal(t, []EarlierOutcome{{6, schema.Timeout}, {2, schema.Deny}, {1, schema.Approve}}, earlier(7), "the newest first; not what came later, nor another call or application")
	require.Empty(t, earlier(1))
	require.Empty(t, earlier(8), "a question about no call")
	require.Empty(t, earlier(404))
}
