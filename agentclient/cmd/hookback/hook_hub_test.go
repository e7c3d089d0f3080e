package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/hubtest"
)

// startWatchedHub starts a hub whose page is open.
func startWatchedHub(t *testing.T) *hubtest.Hub {
	hub := hubtest.Start(t)
	page, _, err := websocket.Dial(t.Context(), hub.StreamURL()+"?v=2", nil)
	require.NoError(t, err)
	var watching sync.WaitGroup
	watching.Go(func() {
		for err := error(nil); err == nil; {
			_, _, err = page.Read(context.Background())
		}
	})
	t.Cleanup(func() {
		_ = page.CloseNow()
		watching.Wait()
	})
	return hub
}

// A person answers at a real hub, which stores the event, the question and its outcome. The
// question of a killed hook is abandoned.
func TestHook_RealHubLifecycle(t *testing.T) {
	t.Parallel()
	hub := startWatchedHub(t)
	c := newHookCommand(t, hub.URL(), readSample(t, "claude-code-PermissionRequest-Bash"))
	c.env = []string{"CLAUDE_CODE_ENTRYPOINT=sdk-cli"}
	// newest waits until there are n events and the newest has the expected status.
	newest := func(n int, wanted func(*schema.Status) bool) (e schema.Event) {
		require.Eventually(t, func() bool {
			var all []schema.Event
			if getJSON(t, hub.URL()+schema.PathRecent, &all) != nil || len(all) != n {
				return false
			}
			e = all[n-1]
			return wanted(e.HumanInTheLoopStatus)
		}, 3*time.Minute, 5*time.Millisecond) // a busy machine can stall for seconds, and the hub looks every 5 s
		return e
	}
	pending := func(s *schema.Status) bool { return s.Status == schema.Pending }

	r := c.start(t, t.Context())
	question := newest(1, pending)
	response, err := http.Post(hub.URL()+schema.At(schema.PathRespond, question.ID), "application/json", strings.NewReader(`{"permission":true}`))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.NoError(t, response.Body.Close())
	got := r.wait()
	require.Equal(t, cliResult{0, allowed, ""}, got)
	newest(1, func(s *schema.Status) bool { return s.Delivery.State == schema.Acked })

	c.stdin = strings.NewReader(readSample(t, "claude-code-PermissionRequest-Bash"))
	r = c.start(t, t.Context())
	newest(2, pending)
	require.NoError(t, r.Process.Kill())
	r.wait()
	newest(2, func(s *schema.Status) bool { return s.Outcome == schema.Cancelled && s.Source == schema.ByOrphaned })
}

func getJSON(t *testing.T, address string, into any) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return json.NewDecoder(res.Body).Decode(into)
}

// The question states what the call does, and the receipt of the answer proves that people saw it.
func TestHook_StatesConsequence(t *testing.T) {
	t.Parallel()
	hub := startWatchedHub(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes"), []byte("kept nowhere else\n"), 0o600))
	input, err := json.Marshal(map[string]any{
		"session_id": "s1", "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_use_id": "t1", "cwd": dir,
		"tool_input": map[string]string{"command": "rm notes"},
	})
	require.NoError(t, err)
	c := newHookCommand(t, hub.URL(), string(input))
	c.env = []string{"CLAUDE_CODE_ENTRYPOINT=sdk-cli"}
	r := c.start(t, t.Context())
	var all []schema.Event
	require.Eventually(t, func() bool {
		return getJSON(t, hub.URL()+schema.PathRecent, &all) == nil && len(all) == 1 && all[0].HumanInTheLoop != nil
	}, time.Minute, 5*time.Millisecond)
	shown := all[0].HumanInTheLoop.ToolCall.Consequence
	require.NotNil(t, shown)
	require.Equal(t, "Removes 1 file, 18 bytes; 1 of them is in no git repository and can't be restored.", shown.Summary())
	response, err := http.Post(hub.URL()+schema.At(schema.PathRespond, all[0].ID), "application/json", strings.NewReader(`{"permission":true}`))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, cliResult{0, allowed, ""}, r.wait())
	var proof sign.Receipt
	require.NoError(t, getJSON(t, hub.URL()+schema.At(schema.PathReceipt, all[0].ID), &proof))
	require.Equal(t, shown, proof.Consequence)
	var statement sign.Statement
	require.NoError(t, json.Unmarshal(proof.Envelope.Payload, &statement))
	digest := sign.ConsequenceDigest(shown)
	require.Equal(t, hex.EncodeToString(digest[:]), statement.Digest(sign.ConsequenceSubject, "sha256"))
}
