package agentclient_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
)

// benchAsk measures a question from POST to acknowledgment. The hub does no work and the
// person answers immediately.
func benchAsk(b *testing.B, parallel bool) {
	hub := &fakehub.Hub{}
	require.NoError(b, hub.Start())
	defer hub.Stop()
	client := agentclient.New(agentclient.Options{Hubs: []string{hub.URL()}})
	defer client.Close()
	ctx := context.Background()
	ask := func() {
		d, err := client.Ask(ctx, agentclient.Request{Question: "Go?", OnWaiting: func(w agentclient.WaitStatus) {
			go func() {
				if q, err := hub.Question(ctx, int(w.EventID)); err == nil {
					_, _ = q.Push(ctx, approval())
				}
			}()
		}})
		if err != nil || !d.Approved() {
			b.Error(d, err)
		}
	}
	b.ReportAllocs()
	if parallel {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				ask()
			}
		})
		return
	}
	for b.Loop() {
		ask()
	}
}

func BenchmarkAsk(b *testing.B)         { benchAsk(b, false) }
func BenchmarkAskParallel(b *testing.B) { benchAsk(b, true) }

func BenchmarkSend(b *testing.B) {
	hub := &fakehub.Hub{}
	require.NoError(b, hub.Start())
	defer hub.Stop()
	client := agentclient.New(agentclient.Options{Hubs: []string{hub.URL()}})
	defer client.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.Send(context.Background(), schema.Event{HookEventType: "Stop"}); err != nil {
			b.Fatal(err)
		}
	}
}
