package httpapi

import (
	"context"
	"encoding/json"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/hub"
)

// Run counts what becomes of events and questions until ctx ends. It follows the
// log like a page does, so that counting is nobody else's business.
func (m *Metrics) Run(ctx context.Context, h *hub.Hub) error {
	seq := h.Hello().Seq
	for ctx.Err() == nil {
		frames, more, err := h.FramesAfter(ctx, seq)
		if err != nil { // too far behind: figures may have a gap, but go on
			seq = h.Hello().Seq
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

// outcomeLabel keeps agents' own labels out of the metrics.
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
