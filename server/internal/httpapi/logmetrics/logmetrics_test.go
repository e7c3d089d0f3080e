package logmetrics

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func TestLog_MeasuresEachStepOnce(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	open := newOpenQuestions(New(registry))
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
	open := newOpenQuestions(New(prometheus.NewRegistry()))
	for id := range schema.EventID(maxOpenQuestions + 1) {
		open.start(id)
	}
	require.Contains(t, open.since, schema.EventID(maxOpenQuestions))
	require.Len(t, open.since, maxOpenQuestions)
}
