package hub

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// maxExecutionError is the number of bytes kept of an error: enough to recognize it.
const maxExecutionError = 2 << 10

// ReportExecution records that a call runs or how it ended, as reported by the agent that
// asked. It is for agents without hooks that would show it. An outcome already recorded is
// kept, also if the report of the start arrives after it.
func (h *Hub) ReportExecution(ctx context.Context, id schema.EventID, r *schema.CallReport) ([]byte, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	execution := schema.Execution{State: r.State, DurationMS: r.DurationMS, Error: h.cleanErrorText(r.Error)}
	return eventJSON(h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		switch {
		case !isRequestSecret(s.Question, r.RequestSecret):
			return nil, wrongSecretError("requestSecret")
		case !s.status.IsSettled():
			return nil, &schema.StatusError{Err: schema.ErrUndecided, Status: s.status}
		case s.status.Execution.IsOver(), s.status.Execution != nil && !execution.IsOver():
			return nil, nil
		}
		st := s.status
		st.Execution = &execution
		return s.change(st)
	}))
}

// cleanErrorText returns the agent's text as valid UTF-8, truncated and with secrets
// removed.
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
