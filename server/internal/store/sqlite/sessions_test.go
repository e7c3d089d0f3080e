package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// TestSessions_SearchMatchesScan compares text searches with a loop over all sessions, while
// sessions become active, change their text, move to another application and disappear.
func TestSessions_SearchMatchesScan(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	rnd := rand.New(rand.NewPCG(7, 8))
	const rounds, perRound, ids = 60, 8, 40
	b.AppendMany(t, rounds*perRound, func(int) *store.EventDraft { return conformance.NewDraft("app", "s", "Stop", "") })
	b.State.Texts.Limit = 15
	current := map[schema.EventID]store.SessionRow{} // by first event
	word := func() string { return []string{"alpha", "beta", "gamma", "delta"}[rnd.IntN(4)] }
	for round := range int64(rounds) {
		batch := &store.ProjectionBatch{From: round * perRound, To: (round + 1) * perRound}
		for i := range int64(perRound) {
			row := store.SessionRow{First: schema.EventID(1 + rnd.IntN(ids)), Last: schema.EventID(batch.From + i + 1)}
			row.App, row.Session = fmt.Sprint("app", rnd.IntN(3)), fmt.Sprint("s", row.First)
			row.Text, row.Facts = word()+" "+word()+"\n"+row.Session, fmt.Append(nil, row.Last)
			if slices.ContainsFunc(batch.Sessions, func(r store.SessionRow) bool { return r.First == row.First }) {
				continue
			}
			if before, ok := current[row.First]; ok && before.App != row.App {
				batch.RemovedSessions = append(batch.RemovedSessions, store.SessionKey{App: before.App, Session: before.Session})
			}
			batch.Sessions, current[row.First] = append(batch.Sessions, row), row
		}
		b.MustProject(t, batch)
		for range 3 {
			f := store.SessionFilter{Text: strings.ToUpper(word()), Limit: 1 + rnd.IntN(6)}
			if rnd.IntN(3) == 0 {
				f.App = "app1"
			}
			require.Equal(t, scanSessions(current, f), searchAllPages(ctx, t, b, f), "%+v", f)
		}
	}
}

// scanSessions returns the facts of all sessions that f selects, latest first.
func scanSessions(all map[schema.EventID]store.SessionRow, f store.SessionFilter) (facts []string) {
	var rows []store.SessionRow
	for _, row := range all {
		if strings.Contains(row.Text, strings.ToLower(f.Text)) && (f.App == "" || f.App == row.App) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b store.SessionRow) int { return int(b.Last - a.Last) })
	for _, row := range rows {
		facts = append(facts, string(row.Facts))
	}
	return facts
}

func searchAllPages(ctx context.Context, t *testing.T, b *testStore, f store.SessionFilter) (facts []string) {
	t.Helper()
	for page := 0; page == 0 || f.Before > 0; page++ {
		require.Less(t, page, 100)
		found, next, err := b.Sessions(ctx, f)
		require.NoError(t, err)
		require.LessOrEqual(t, len(found), f.Limit)
		for _, raw := range found {
			facts = append(facts, string(raw))
		}
		f.Before = next
	}
	return facts
}
