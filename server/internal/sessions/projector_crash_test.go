package sessions

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/store/sqlite"
	"github.com/stretchr/testify/require"
)

const projectorCrashFile = "HOOKBACK_DERIVE_CRASH_TEST"

// runProjectorCrashChild is the child process of TestProjector_ResumesAfterKill. It posts,
// answers and projects until it is killed. It reports whether this process is that child.
func runProjectorCrashChild() bool {
	file := os.Getenv(projectorCrashFile)
	if file == "" {
		return false
	}
	db, err := sqlite.Open(context.Background(), sqlite.Config{Path: file, ReserveFileBytes: -1})
	if err != nil {
		fmt.Println("error", err)
		return true
	}
	h := newHub(db, Config{})
	go func() { fmt.Println("error", h.Run(context.Background())) }()
	rnd := rand.New(rand.NewPCG(uint64(db.Head()), 7))
	for {
		use := rnd.IntN(1000)
		asked, err := h.hub.Ingest(context.Background(), fmt.Appendf(nil, `{"source_app":"a","session_id":"s%d","hook_event_type":"PermissionRequest","payload":{},"tool_use_id":"u%d","humanInTheLoop":%s}`, use%5, use, pullQuestion), hub.Caller{})
		if err == nil {
			h.hub.ResponseSent(asked.ID)
			_, err = h.hub.Respond(context.Background(), asked.ID, approval(), hub.Caller{})
		}
		if err == nil {
			_, err = h.hub.Ingest(context.Background(), fmt.Appendf(nil, `{"source_app":"a","session_id":"s%d","hook_event_type":"PostToolUse","payload":{},"tool_name":"Bash","tool_use_id":"u%d"}`, use%5, use), hub.Caller{})
		}
		if err != nil {
			fmt.Println("error", err)
			return true
		}
		fmt.Println("asked", asked.ID)
	}
}

// TestProjector_ResumesAfterKill: after kill -9 at any moment, the projector continues where
// it was. Not parallel: between fork and exec, a child holds the file locks of its parent,
// and other tests reopen their databases.
func TestProjector_ResumesAfterKill(t *testing.T) {
	file := t.TempDir() + "/hub.db"
	for round := range 4 {
		child := exec.Command(os.Args[0], "-test.run=^$")
		child.Env = append(os.Environ(), projectorCrashFile+"="+file)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		t.Cleanup(func() { _ = child.Process.Kill() })
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			require.NotContains(t, lines.Text(), "error")
			if n == 20+13*round {
				require.NoError(t, child.Process.Kill())
			}
		}
		_ = child.Wait() // killed

		h := openTestHub(t, file)
		cursor, err := h.Store.ProjectionCursor(t.Context())
		require.NoError(t, err)
		require.Positive(t, cursor, "the child projected something")
		h.catchUp(h.newProjector())
		quarters := []int64{0}
		requireSameProjections(t, h.recomputeProjections(quarters), h.readProjections(quarters))
		h.requireExecutions()
		require.NoError(t, h.Store.Close())
	}
}
