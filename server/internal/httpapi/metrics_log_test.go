package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/storetest"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

func TestLog_MeasuresEachStepOnce(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	open := newOpenQuestions(newLogMetrics(registry))
	change := func(id schema.EventID, st schema.Status, ended bool) {
		data, err := json.Marshal(schema.StatusChange{ID: id, HumanInTheLoopStatus: st})
		require.NoError(t, err)
		open.recordStatusChange(data, ended)
	}
	for id := range schema.EventID(3) {
		open.start(id)
	}
	answered := schema.Status{Status: schema.Responded, Source: schema.ByHuman, Delivery: &schema.Delivery{State: schema.Queued}}
	change(0, answered, true)
	answered.Delivery = &schema.Delivery{State: schema.Acked}
	change(0, answered, false)
	answered.Reminders++ // another change of a delivered answer
	change(0, answered, false)
	change(1, schema.Status{Status: schema.TimedOut, Source: schema.ByTimeout, Delivery: &schema.Delivery{State: schema.Queued}}, true)
	change(2, schema.Status{Status: schema.Responded, Source: schema.ByHuman, Delivery: &schema.Delivery{State: schema.TooLate}}, true)
	change(9, answered, true) // from before the start
	var b strings.Builder
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if h := metric.GetHistogram(); h.GetSampleCount() > 0 {
				fmt.Fprintf(&b, "%s %d\n", family.GetName(), h.GetSampleCount())
			}
		}
	}
	require.Equal(t, "hookback_answer_seconds 2\nhookback_delivery_seconds 1\n", b.String())
	require.Empty(t, open.since)
}

// Answers that no agent ever takes do not end the measurement of later ones.
func TestLog_MeasuresAfterManyUndelivered(t *testing.T) {
	t.Parallel()
	open := newOpenQuestions(newLogMetrics(prometheus.NewRegistry()))
	for id := range schema.EventID(maxOpenQuestions + 1) {
		open.start(id)
	}
	require.Contains(t, open.since, schema.EventID(maxOpenQuestions))
	require.Len(t, open.since, maxOpenQuestions)
}

// Each hub counts its own commits. An answer here to a question from another hub has its time.
func TestLog_LeavesForeignRowsToTheirHub(t *testing.T) {
	t.Parallel()
	registry, log := prometheus.NewRegistry(), feed.New(0, 16, 1<<20)
	metrics := newLogMetrics(registry)
	answer, err := json.Marshal(schema.StatusChange{
		ID:                   1,
		HumanInTheLoopStatus: schema.Status{Status: schema.Responded, Outcome: schema.Approve, Source: schema.ByHuman},
	})
	require.NoError(t, err)
	other, err := json.Marshal(schema.StatusChange{
		ID:                   2,
		HumanInTheLoopStatus: schema.Status{Status: schema.Responded, Outcome: schema.Deny, Source: schema.ByHuman},
	})
	require.NoError(t, err)
	db := storetest.Open(t, storetest.Options{Fast: true})
	q := query.New(query.Config{Store: db, Feed: log})
	ctx, cancel := context.WithCancel(t.Context())
	ended, following := make(chan error, 1), make(chan struct{})
	go func() {
		seq := q.Hello().Seq
		close(following)
		ended <- metrics.follow(ctx, q, seq)
	}()
	<-following
	for range 5 { // the frames take the place of these events
		_, err := db.Append(t.Context(), conformance.NewDraft("a", "s", "Stop", ""))
		require.NoError(t, err)
	}
	log.Publish(
		feed.Frame{Seq: 1, ID: 1, Kinds: feed.NewQuestion, Foreign: true}, feed.Frame{Seq: 2, ID: 2, Kinds: feed.NewQuestion},
		feed.Frame{Seq: 3, ID: 2, Status: true, Data: other, End: other, Foreign: true}, feed.Frame{Seq: 4, ID: 1, Status: true, Data: answer, End: answer},
		feed.Frame{Seq: 5}, // the last one
	)
	gathered := func() string {
		var b strings.Builder
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				if n := float64(metric.GetHistogram().GetSampleCount()) + metric.GetCounter().GetValue(); n > 0 {
					fmt.Fprintf(&b, "%s %v\n", family.GetName(), n)
				}
			}
		}
		return b.String()
	}
	require.Eventually(t, func() bool { return strings.Contains(gathered(), "events_total 2") }, time.Minute, time.Millisecond)
	require.Equal(t, "hookback_answer_seconds 1\nhookback_events_total 2\nhookback_questions_total 1\n", gathered())
	cancel()
	require.NoError(t, <-ended)
}
