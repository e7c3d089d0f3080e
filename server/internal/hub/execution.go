package hub

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// maxExecutionError is how much of an error is kept: enough to recognise it.
const maxExecutionError = 2 << 10

// ReportExecution notes what became of a call, as the agent that asked says: it runs no
// hooks that would tell. What is known already stays.
func (h *Hub) ReportExecution(ctx context.Context, id schema.EventID, r *schema.CallReport) ([]byte, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	execution := schema.Execution{State: r.State, DurationMS: r.DurationMS, Error: h.cleanErrorText(r.Error)}
	return eventJSON(h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		switch {
		case !h.isRequestSecret(s.UID, r.RequestSecret):
			return nil, wrongSecretError("requestSecret")
		case !s.status.Settled():
			return nil, &schema.StatusError{Err: schema.ErrUndecided, Status: s.status}
		case s.status.Execution != nil:
			return nil, nil
		}
		st := s.status
		st.Execution = &execution
		return s.change(st)
	}))
}

// cleanErrorText is an agent's text as it may be kept and shown.
func (h *Hub) cleanErrorText(text string) string {
	if text = strings.ToValidUTF8(text, "�"); len(text) > maxExecutionError {
		text = strings.ToValidUTF8(text[:maxExecutionError], "") + "…"
	}
	if h.Redactor == nil || text == "" {
		return text
	}
	b, err := json.Marshal(text)
	if err != nil {
		return ""
	}
	if clean, n := h.Redactor.JSON(b); n > 0 {
		if json.Unmarshal(clean, &text) != nil {
			return ""
		}
	}
	return text
}
