package hubtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// postAsk sends a question to /ask, again until it has an answer if it has a key.
func postAsk(t *testing.T, hub *hubtest.Hub, body, key string) <-chan schema.Answer {
	t.Helper()
	done, address := make(chan schema.Answer, 1), hub.URL()+schema.PathAsk // Restart changes the hub, not its address
	go func() {
		for t.Context().Err() == nil {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set(schema.IdempotencyHeader, key)
			resp, err := http.DefaultClient.Do(req)
			if err == nil {
				var b []byte
				b, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				var a schema.Answer
				if err == nil && resp.StatusCode == http.StatusOK {
					if err := json.Unmarshal(b, &a); err != nil {
						t.Errorf("%q: %v", b, err)
					}
					done <- a
					return
				}
			}
			select { // the hub restarts
			case <-time.After(20 * time.Millisecond):
			case <-t.Context().Done():
			}
		}
	}()
	return done
}

func readEvent(t *testing.T, hub *hubtest.Hub, id schema.EventID) (e schema.Event, ok bool) {
	t.Helper()
	resp, err := http.Get(hub.URL() + schema.At(schema.PathEvent, id))
	if err != nil {
		return e, false
	}
	defer func() { _ = resp.Body.Close() }()
	return e, json.NewDecoder(resp.Body).Decode(&e) == nil && e.HumanInTheLoopStatus != nil
}

// A program that asks again after a restart gets the answer to its first request. The question of
// one that doesn't is ended.
func TestAsk_RestartKeepsQuestion(t *testing.T) {
	t.Parallel()
	const limit = time.Minute
	hub := hubtest.Start(t)
	answers := postAsk(t, hub, `{"question":"Go?"}`, "k")
	require.Eventually(t, func() bool { _, ok := readEvent(t, hub, 1); return ok }, limit, time.Millisecond)
	gone, err := http.NewRequestWithContext(t.Context(), http.MethodPost, hub.URL()+schema.PathAsk, strings.NewReader(`{"question":"Never again?"}`))
	require.NoError(t, err)
	gone.Header.Set(schema.IdempotencyHeader, "other")
	resp, err := http.DefaultClient.Do(gone) // returns with the headers, when the question is stored
	require.NoError(t, err)
	hub.Restart()
	_ = resp.Body.Close()
	require.Eventually(t, func() bool {
		e, ok := readEvent(t, hub, 2)
		return ok && e.HumanInTheLoopStatus.Source == schema.ByOrphaned
	}, limit, 20*time.Millisecond)
	e, ok := readEvent(t, hub, 1)
	require.True(t, ok)
	require.Equal(t, schema.Pending, e.HumanInTheLoopStatus.Status)
	yes, err := http.Post(hub.URL()+schema.At(schema.PathRespond, 1), "application/json", strings.NewReader(`{"permission":true}`))
	require.NoError(t, err)
	require.NoError(t, yes.Body.Close())
	require.Equal(t, http.StatusOK, yes.StatusCode)
	a := <-answers
	require.True(t, *a.Permission)
	require.Equal(t, schema.EventID(1), a.HookEvent.ID)
}
