package hub

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

const sameCrashFile = "HOOKBACK_TEST_SAME_CRASH"

// crashedSame runs in the child of TestKilledWhileTheSameIsAsked: it asks the same by
// threes, answers what it saw, takes one back, and has a rule answer others, until it
// is killed.
func crashedSame() bool {
	file := os.Getenv(sameCrashFile)
	if file == "" {
		return false
	}
	ctx := context.Background()
	db, err := store.Open(ctx, store.Config{Path: file, ReserveFileBytes: -1})
	if err != nil {
		fmt.Println("error", err)
		return true
	}
	h := New(Config{Store: db, Feed: feed.New(db.Head(), 64, 1<<20)})
	first, err := h.Ingest(ctx, []byte(runs("rule", "npm test")), Caller{})
	if err == nil {
		_, err = h.MakeRule(ctx, like(first.ID, schema.ThenAllow), Caller{})
	}
	for i := 0; err == nil; i++ {
		session := fmt.Sprintf("%d-%d", db.Head(), i)
		var each sync.WaitGroup
		for range 3 {
			each.Go(func() { _, _ = h.Ingest(ctx, []byte(runs(session, "make lint")), Caller{}) })
		}
		each.Go(func() { _, _ = h.Ingest(ctx, []byte(runs(session, "npm test")), Caller{}) })
		each.Wait()
		var ids []schema.EventID
		if ids, err = db.PendingOf(ctx, "a", session); err != nil || i%3 == 0 {
			continue // they stay
		}
		if i%3 == 1 {
			_, err = h.Cancel(ctx, ids[0], schema.Cancel{RequestSecret: h.secretOf(ctx, ids[0])}, Caller{})
		} else if a, readErr := h.readSnapshot(ctx, ids[0]); readErr == nil {
			_, err = h.Respond(ctx, ids[0], seen(a.status.Revision, yes()), Caller{})
		}
		fmt.Println("done", i)
	}
	fmt.Println("error", err)
	return true
}

func (h *Hub) secretOf(ctx context.Context, id schema.EventID) string {
	e, _, err := h.Store.Event(ctx, id)
	if err != nil {
		return ""
	}
	return h.requestSecret(e.UID)
}

// TestKilledWhileTheSameIsAsked: after kill -9 at any moment every group is whole, and
// every rule is counted as often as it decided. Alone, as TestKilledFollower.
func TestKilledWhileTheSameIsAsked(t *testing.T) {
	file := t.TempDir() + "/hub.db"
	for range 3 {
		child := exec.Command(os.Args[0], "-test.run=^$")
		child.Env = append(os.Environ(), sameCrashFile+"="+file)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		t.Cleanup(func() { _ = child.Process.Kill() })
		lines := bufio.NewScanner(out)
		for n := 0; n < 12 && lines.Scan(); n++ {
			require.True(t, strings.HasPrefix(lines.Text(), "done"), lines.Text())
		}
		require.NoError(t, child.Process.Kill())
		_ = child.Wait()
		b := open(t, file)
		b.requireWhole()
		require.NoError(t, b.Store.Close())
	}
}

// requireWhole holds every question's group, and every rule's count, against what is
// stored.
func (b *bench) requireWhole() {
	ctx := b.t.Context()
	all, err := b.Store.Questions(ctx, 1<<53, 5000)
	require.NoError(b.t, err)
	statuses, members := map[schema.EventID]schema.Status{}, map[schema.EventID]int{}
	byRule := int64(0)
	for _, e := range all {
		var st schema.Status
		require.NoError(b.t, json.Unmarshal(e.Status, &st))
		if statuses[e.ID] = st; st.Source == schema.ByRule {
			byRule++
		}
		if !st.Settled() && st.SameAs != 0 {
			members[st.SameAs]++
		}
	}
	for id, st := range statuses {
		if st.Settled() {
			require.Zero(b.t, members[id], "%d has ended, and others wait behind it", id)
			continue
		}
		if st.SameAs != 0 {
			first := statuses[st.SameAs]
			require.False(b.t, first.Settled())
			require.Zero(b.t, first.SameAs)
			continue
		}
		want := 0
		if members[id] > 0 {
			want = members[id] + 1
		}
		require.Equal(b.t, want, st.Waiters, id)
		listed, err := b.Store.GroupMembers(ctx, id)
		require.NoError(b.t, err)
		require.Len(b.t, listed, members[id])
	}
	rules, err := b.Store.Rules(ctx, 100)
	require.NoError(b.t, err)
	uses := int64(0)
	for _, r := range rules {
		uses += r.Uses
	}
	require.Equal(b.t, byRule, uses)
	require.NotZero(b.t, uses)
}
