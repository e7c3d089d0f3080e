package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/digest"
	"github.com/hookback/hookback/server/internal/otlp"
	"github.com/hookback/hookback/server/internal/store"
)

// TelemetryResult is what became of the records of a request.
type TelemetryResult struct{ Stored, Ignored, Rejected int }

// OTLPLogs stores what a body of OTLP log records says that hooks can't know, as events
// of the sessions it names. It fails when an event can't be stored now: the exporter
// sends all of it again, which stores the rest once.
func (h *Hub) OTLPLogs(ctx context.Context, body []byte, by Caller) (TelemetryResult, error) {
	return h.ingestTelemetry(ctx, body, otlp.Logs, by)
}

// OTLPMetrics is Logs for metrics.
func (h *Hub) OTLPMetrics(ctx context.Context, body []byte, by Caller) (TelemetryResult, error) {
	return h.ingestTelemetry(ctx, body, otlp.Metrics, by)
}

func (h *Hub) ingestTelemetry(ctx context.Context, body []byte, read func([]byte) (otlp.Batch, error), by Caller) (TelemetryResult, error) {
	batch, err := read(body)
	if errors.Is(err, otlp.ErrMalformed) {
		return TelemetryResult{}, invalidField("", "must be an OTLP request in JSON with at most %d records", otlp.MaxRecords)
	}
	if err != nil {
		return TelemetryResult{}, err
	}
	heard := TelemetryResult{Ignored: batch.Ignored, Rejected: batch.Rejected}
	apps := map[string]string{}
	var drafts []*store.EventDraft
	for i := range batch.Events {
		e := &batch.Events[i]
		if e.SourceApp, err = h.telemetryApp(ctx, e, apps); err != nil {
			return heard, err
		}
		encoded, err := json.Marshal(e)
		if err != nil {
			return heard, fmt.Errorf("encoding a record's event: %w", err)
		}
		d, _, err := h.draft(ctx, encoded, by)
		if err != nil {
			heard.Rejected++ // a name that no event may have
			continue
		}
		drafts = append(drafts, d)
	}
	for _, r := range h.Store.AppendAll(ctx, drafts) {
		if r.Err != nil {
			return heard, withRetryHint(r.Err)
		}
		heard.Stored++
	}
	return heard, nil
}

// telemetryApp is the application that the session's hooks name, else the agent's own name.
func (h *Hub) telemetryApp(ctx context.Context, e *schema.Event, known map[string]string) (string, error) {
	if app := known[e.SessionID]; app != "" {
		return app, nil
	}
	app := e.SourceApp
	keys, err := h.Store.SessionsNamed(ctx, e.SessionID)
	if err != nil {
		return "", err
	}
	if len(keys) > 0 {
		app = keys[0].App
	}
	known[e.SessionID] = app
	return app, nil
}

// telemetryHome is where telemetry of a session belongs that came under a name its hooks don't
// use: it was there before they were, or faster. nil: it belongs where it stands.
func (s *projection) telemetryHome(ctx context.Context, key store.SessionKey, telemetry bool) (*digest.Session, error) {
	for other, session := range s.sessions {
		if other.Session == key.Session && other != key && (telemetry || session.IsTelemetryOnly()) && session.Sum.Events > 0 {
			return s.adoptSession(key, other, telemetry), nil
		}
	}
	others, err := s.hub.Store.SessionsNamed(ctx, key.Session)
	if err != nil {
		return nil, err
	}
	for _, other := range others {
		if other == key || s.hasLeft(other) {
			continue
		}
		session, err := s.storedSession(ctx, other)
		if err != nil {
			return nil, err
		}
		if telemetry || session.IsTelemetryOnly() {
			s.sessions[other] = session
			return s.adoptSession(key, other, telemetry), nil
		}
	}
	return nil, nil
}

// adoptSession is the session that telemetry goes to, or that hooks take over from the
// telemetry which came before them: it moves to their application with its figures.
func (s *projection) adoptSession(key, other store.SessionKey, telemetry bool) *digest.Session {
	session := s.sessions[other]
	if telemetry {
		return session
	}
	delete(s.sessions, other)
	s.Left = append(s.Left, other)
	session.Rekey(key.App)
	m := &session.Sum
	moved := store.Activity{Events: m.Events, Failures: m.Failures, CostUSD: m.CostUSD}
	if m.Tokens != nil {
		moved.Tokens = *m.Tokens
	}
	at := int64(m.LastAt)
	s.addActivity(at, key.App, moved)
	s.addActivity(at, other.App, moved.Negate())
	return session
}

func (s *projection) hasLeft(key store.SessionKey) bool {
	for _, l := range s.Left {
		if l == key {
			return true
		}
	}
	return false
}
