//go:build unix

package hubtest_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

// A hub that is killed while 200 questions of one process wait or are on their way keeps them, and
// every caller gets its own answer from the hub that replaces it.
func TestClient_QuestionsSurviveKilledHub(t *testing.T) {
	t.Parallel()
	const questions, beforeKill = 200, 120
	db := filepath.Join(t.TempDir(), "hub.db")
	hub := startServerOn(t, "hub", db)
	client := agentclient.New(agentclient.Options{
		Hubs: []string{"http://" + hub.addr}, KnownHubs: filepath.Join(t.TempDir(), "known_hubs"), Env: noEnv, UnreachableAfter: waitLimit,
	})
	t.Cleanup(func() { _ = client.Close() })
	type waiting struct {
		id   schema.EventID
		text string
	}
	stored := make(chan waiting, questions)
	var asks sync.WaitGroup
	for i := range questions {
		text := fmt.Sprintf("answer %d", i)
		asks.Go(func() {
			d, err := client.Ask(t.Context(), agentclient.Request{
				Question: "Which?", Kind: schema.FreeText, Timeout: 10 * time.Minute,
				OnWaiting: func(w agentclient.WaitStatus) { stored <- waiting{w.EventID, text} },
			})
			if err != nil || d.Text != text {
				t.Errorf("%s: got %q (%s), %v", text, d.Text, d.Outcome, err)
			}
		})
	}
	var all []waiting
	for len(all) < beforeKill {
		all = append(all, <-stored)
	}
	require.NoError(t, syscall.Kill(hub.pid, syscall.SIGKILL))
	hub.stop()
	startServerOn(t, "hub", db, addrVariable+"="+hub.addr)
	for len(all) < questions {
		all = append(all, <-stored)
	}
	ids := map[schema.EventID]bool{}
	for _, w := range all {
		ids[w.id] = true
		post(t, "http://"+hub.addr+schema.At(schema.PathRespond, w.id), fmt.Sprintf(`{"response":%q}`, w.text))
	}
	asks.Wait()
	require.Len(t, ids, questions)
}
