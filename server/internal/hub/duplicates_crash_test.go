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
	"github.com/hookback/hookback/server/internal/store/sqlite"
)

const duplicatesCrashFile = "HOOKBACK_TEST_SAME_CRASH"

// runDuplicatesCrashChild is the child process of TestDuplicates_SurviveKill. Until it is
// killed, it posts groups of three duplicates, answers or withdraws their leaders, and has
// a rule answer other questions. It reports whether this process is that child.
func runDuplicatesCrashChild() bool {
	file := os.Getenv(duplicatesCrashFile)
	if file == "" {
		return false
	}
	ctx := context.Background()
	db, err := sqlite.Open(ctx, sqlite.Config{Path: file, ReserveFileBytes: -1})
	if err != nil {
		fmt.Println("error", err)
		return true
	}
	h := New(Config{Store: db, Feed: feed.New(db.Head(), 64, 1<<20)})
	first, err := h.Ingest(ctx, []byte(bashRequest("rule", "npm test")), Caller{})
	if err == nil {
		_, err = h.CreateRule(ctx, newRuleDraft(first.ID, schema.ThenAllow), Caller{Identity: ada})
	}
	for i := 0; err == nil; i++ {
		session := fmt.Sprintf("%d-%d", db.Head(), i)
		var each sync.WaitGroup
		for range 3 {
			each.Go(func() { _, _ = h.Ingest(ctx, []byte(bashRequest(session, "make lint")), Caller{}) })
		}
		each.Go(func() { _, _ = h.Ingest(ctx, []byte(bashRequest(session, "npm test")), Caller{}) })
		each.Wait()
		var ids []schema.EventID
		if ids, err = db.PendingInSession(ctx, "a", session); err != nil || i%3 == 0 {
			continue // leave the group pending
		}
		if i%3 == 1 {
			_, err = h.Cancel(ctx, ids[0], schema.Cancel{RequestSecret: h.storedRequestSecret(ctx, ids[0])}, Caller{})
		} else if a, readErr := h.readSnapshot(ctx, ids[0]); readErr == nil {
			_, err = h.Respond(ctx, ids[0], withRevision(a.Status.Revision, approval()), Caller{})
		}
		fmt.Println("done", i)
	}
	fmt.Println("error", err)
	return true
}

func (h *Hub) storedRequestSecret(ctx context.Context, id schema.EventID) string {
	e, _, err := h.Store.Event(ctx, id)
	if err != nil {
		return ""
	}
	return h.env.RequestSecret(e.UID)
}

// TestDuplicates_SurviveKill: after kill -9 at any moment, every duplicate group is
// consistent and the use count of every rule equals its decisions. Not parallel, for the
// reason given at TestProjector_ResumesAfterKill.
func TestDuplicates_SurviveKill(t *testing.T) {
	file := t.TempDir() + "/hub.db"
	for range 3 {
		child := exec.Command(os.Args[0], "-test.run=^$")
		child.Env = append(os.Environ(), duplicatesCrashFile+"="+file)
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
		h := openTestHub(t, file)
		h.requireConsistentGroups()
		require.NoError(t, h.Store.(store.Store).Close())
	}
}

// requireConsistentGroups checks every duplicate group and the use count of the rules
// against the stored statuses.
func (h *testHub) requireConsistentGroups() {
	ctx := h.t.Context()
	all, err := h.Store.Questions(ctx, 1<<53, 5000)
	require.NoError(h.t, err)
	statuses, members := map[schema.EventID]schema.Status{}, map[schema.EventID]int{}
	byRule := int64(0)
	for _, e := range all {
		var st schema.Status
		require.NoError(h.t, json.Unmarshal(e.Status, &st))
		if statuses[e.ID] = st; st.Source == schema.ByRule {
			byRule++
		}
		if !st.IsSettled() && st.SameAs != 0 {
			members[st.SameAs]++
		}
	}
	for id, st := range statuses {
		if st.IsSettled() {
			require.Zero(h.t, members[id], "%d is settled, but pending questions name it as their leader", id)
			continue
		}
		if st.SameAs != 0 {
			first := statuses[st.SameAs]
			require.False(h.t, first.IsSettled())
			require.Zero(h.t, first.SameAs)
			continue
		}
		want := 0
		if members[id] > 0 {
			want = members[id] + 1
		}
		require.Equal(h.t, want, st.Waiters, id)
		listed, err := h.Store.GroupMembers(ctx, id)
		require.NoError(h.t, err)
		require.Len(h.t, listed, members[id])
	}
	rules, err := h.Store.Rules(ctx, 100)
	require.NoError(h.t, err)
	uses := int64(0)
	for _, r := range rules {
		uses += r.Uses
	}
	require.Equal(h.t, byRule, uses)
	require.NotZero(h.t, uses)
}
