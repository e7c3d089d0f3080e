package httpapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/query"
)

// logMetrics holds the metrics of the log.
type logMetrics struct {
	events          prometheus.Counter
	questions       *prometheus.CounterVec   // by outcome
	deliveries      *prometheus.CounterVec   // by delivery state
	answerSeconds   *prometheus.HistogramVec // by source
	deliverySeconds prometheus.Histogram
}

// newLogMetrics returns the metrics at zero, registered.
func newLogMetrics(registry prometheus.Registerer) *logMetrics {
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "hookback", Name: name, Help: help}, labels)
	}
	m := &logMetrics{
		events:     prometheus.NewCounter(prometheus.CounterOpts{Namespace: "hookback", Name: "events_total", Help: "Events stored since startup."}),
		questions:  counters("questions_total", "Questions settled since startup.", "outcome"),
		deliveries: counters("deliveries_total", "Delivery state changes since startup.", "state"),
		answerSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "hookback", Name: "answer_seconds", Help: "Time from a question to its answer, by responder.",
			Buckets: []float64{.01, .1, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600},
		}, []string{"source"}),
		deliverySeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "hookback", Name: "delivery_seconds", Help: "Time from an answer to its confirmation by the agent.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .1, .5, 2.5, 10, 60, 600, 3600},
		}),
	}
	registry.MustRegister(m.events, m.questions, m.deliveries, m.answerSeconds, m.deliverySeconds)
	return m
}

// follow counts stored events, question outcomes and delivery states after a position of the log, and measures the times
// between them, until ctx ends. Each hub counts only its own commits. It follows the log like a stream client, so no
// other component has to count.
func (m *logMetrics) follow(ctx context.Context, q *query.Service, seq int64) error {
	open, elsewhere := newOpenQuestions(m), newLogMetrics(prometheus.NewRegistry())
	for ctx.Err() == nil {
		frames, more, err := q.FramesAfter(ctx, seq)
		if err != nil { // too far behind: accept a gap in the counters
			seq = q.Hello().Seq
			continue
		}
		for _, f := range frames {
			seq = f.Seq
			if open.metrics = m; f.Foreign {
				open.metrics = elsewhere
			}
			if !f.Status {
				open.metrics.events.Inc()
				if f.Kinds&feed.NewQuestion != 0 {
					open.start(schema.EventID(f.ID))
				}
				continue
			}
			open.recordStatusChange(f.Data, f.End != nil)
		}
		if len(frames) > 0 {
			continue
		}
		select {
		case <-more:
		case <-ctx.Done():
		}
	}
	return nil
}

// maxOpenQuestions bounds the questions whose times are measured.
const maxOpenQuestions = 20_000

// openQuestions measures how long questions wait for their answers, and answers for their agents. A
// question or answer from before the hub's start is not measured.
type openQuestions struct {
	metrics *logMetrics
	since   map[schema.EventID]time.Time // when it was asked; once it is settled, when it was
}

func newOpenQuestions(m *logMetrics) *openQuestions {
	return &openQuestions{metrics: m, since: map[schema.EventID]time.Time{}}
}

// start makes room for the question by dropping any other: some answers never reach their agents.
func (o *openQuestions) start(id schema.EventID) {
	for other := range o.since {
		if len(o.since) < maxOpenQuestions {
			break
		}
		delete(o.since, other)
	}
	o.since[id] = time.Now()
}

// next observes the time since the last step of the question. Without another step it ends.
func (o *openQuestions) next(id schema.EventID, seconds prometheus.Observer, isLast bool) {
	since, ok := o.since[id]
	if !ok {
		return
	}
	now := time.Now()
	seconds.Observe(now.Sub(since).Seconds())
	if o.since[id] = now; isLast {
		delete(o.since, id)
	}
}

func (o *openQuestions) recordStatusChange(data []byte, ended bool) {
	var change struct {
		ID     schema.EventID `json:"id"`
		Status struct {       // of schema.Status
			Outcome  schema.Outcome `json:"outcome"`
			Source   schema.EndedBy `json:"source"`
			Test     bool           `json:"test"`
			Delivery *struct {
				State schema.DeliveryState `json:"state"`
			} `json:"delivery"`
		} `json:"humanInTheLoopStatus"`
	}
	if json.Unmarshal(data, &change) != nil {
		return
	}
	st := &change.Status
	if st.Test {
		delete(o.since, change.ID)
		return
	}
	if ended {
		o.metrics.questions.WithLabelValues(outcomeLabel(st.Outcome, st.Source)).Inc()
		switch st.Source {
		case schema.ByHuman, schema.ByQuorum, schema.ByRule:
			o.next(change.ID, o.metrics.answerSeconds.WithLabelValues(string(st.Source)), false)
		default:
			delete(o.since, change.ID)
		}
	}
	if st.Delivery == nil {
		return
	}
	o.metrics.deliveries.WithLabelValues(string(st.Delivery.State)).Inc()
	switch st.Delivery.State {
	case schema.Delivered, schema.Acked, schema.Pulled:
		o.next(change.ID, o.metrics.deliverySeconds, true)
	case schema.TooLate:
		delete(o.since, change.ID)
	}
}

// outcomeLabel maps an outcome to a fixed set of label values. Choice labels come from
// agents and would make the set unbounded.
func outcomeLabel(o schema.Outcome, source schema.EndedBy) string {
	switch {
	case source == schema.ByDismissal:
		return "dismissed"
	case source == schema.ByOrphaned, source == schema.BySessionEnd:
		return "agent_gone"
	}
	switch o {
	case schema.Approve, schema.Deny, schema.Answered:
		return string(o)
	case schema.Timeout:
		return "timeout"
	case schema.NoQuorum:
		return "no_quorum"
	case schema.Cancelled:
		return "cancelled"
	case schema.Withdrawn:
		return "withdrawn"
	default:
		return "choice"
	}
}
