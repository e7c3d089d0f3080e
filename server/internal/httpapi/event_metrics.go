package httpapi

import (
	"context"
	"encoding/json"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/query"
)

// Run counts stored events, question outcomes and delivery states until ctx ends. It
// follows the log like a stream client, so no other component has to count.
func (m *Metrics) Run(ctx context.Context, q *query.Service) error {
	seq := q.Hello().Seq
	for ctx.Err() == nil {
		frames, more, err := q.FramesAfter(ctx, seq)
		if err != nil { // too far behind: accept a gap in the counters
			seq = q.Hello().Seq
			continue
		}
		for _, f := range frames {
			seq = f.Seq
			if !f.Status {
				m.events.Inc()
				continue
			}
			m.recordStatusChange(f.Data, f.End != nil)
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

func (m *Metrics) recordStatusChange(data []byte, ended bool) {
	var change schema.StatusChange
	if json.Unmarshal(data, &change) != nil {
		return
	}
	st := change.HumanInTheLoopStatus
	if ended {
		m.questions.WithLabelValues(outcomeLabel(st.Outcome)).Inc()
	}
	if st.Delivery != nil {
		m.deliveries.WithLabelValues(string(st.Delivery.State)).Inc()
	}
}

// outcomeLabel maps an outcome to a fixed set of label values. Choice labels come from
// agents and would make the set unbounded.
func outcomeLabel(o schema.Outcome) string {
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
