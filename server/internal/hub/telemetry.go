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

// TelemetryResult counts the records of a request by outcome.
type TelemetryResult struct{ Stored, Ignored, Rejected int }

// OTLPLogs converts OTLP log records to events of the sessions they name and stores
// them. Records of facts that hooks report are ignored. If an event can't be stored, it
// returns an error; the exporter then sends everything again, and deduplication stores
// only the rest.
func (h *Hub) OTLPLogs(ctx context.Context, body []byte, caller Caller) (TelemetryResult, error) {
	return h.ingestTelemetry(ctx, body, otlp.Logs, caller)
}

// OTLPMetrics is OTLPLogs for metrics.
func (h *Hub) OTLPMetrics(ctx context.Context, body []byte, caller Caller) (TelemetryResult, error) {
	return h.ingestTelemetry(ctx, body, otlp.Metrics, caller)
}

func (h *Hub) ingestTelemetry(ctx context.Context, body []byte, parse func([]byte) (otlp.Batch, error), caller Caller) (TelemetryResult, error) {
	batch, err := parse(body)
	if errors.Is(err, otlp.ErrMalformed) {
		return TelemetryResult{}, invalidField("", "must be an OTLP request in JSON with at most %d records", otlp.MaxRecords)
	}
	if err != nil {
		return TelemetryResult{}, err
	}
	result := TelemetryResult{Ignored: batch.Ignored, Rejected: batch.Rejected}
	apps := map[string]string{}
	var drafts []*store.EventDraft
	for i := range batch.Events {
		e := &batch.Events[i]
		if e.SourceApp, err = h.telemetryApp(ctx, e, apps); err != nil {
			return result, err
		}
		encoded, err := json.Marshal(e)
		if err != nil {
			return result, fmt.Errorf("encode event of record: %w", err)
		}
		d, _, err := h.draft(ctx, encoded, caller)
		if err != nil {
			result.Rejected++ // such as an invalid name
			continue
		}
		drafts = append(drafts, d)
	}
	for _, r := range h.Store.AppendAll(ctx, drafts) {
		if r.Err != nil {
			return result, withRetryHint(r.Err)
		}
		result.Stored++
	}
	return result, nil
}

// telemetryApp returns the application name that the session's hooks use, or else the
// agent's own name.
func (h *Hub) telemetryApp(ctx context.Context, e *schema.Event, apps map[string]string) (string, error) {
	if app := apps[e.SessionID]; app != "" {
		return app, nil
	}
	app := e.SourceApp
	keys, err := h.Store.SessionsWithID(ctx, e.SessionID)
	if err != nil {
		return "", err
	}
	if len(keys) > 0 {
		app = keys[0].App
	}
	apps[e.SessionID] = app
	return app, nil
}

// telemetryHome returns the existing session that the events of key belong to although
// it has another application name: telemetry joins the session of the hooks, and hooks
// take over a session that has only telemetry. Nil means that key has its own session.
func (p *projection) telemetryHome(ctx context.Context, key store.SessionKey, telemetry bool) (*digest.Session, error) {
	for other, session := range p.sessions {
		if other.Session == key.Session && other != key && (telemetry || session.IsTelemetryOnly()) && session.Sum.Events > 0 {
			return p.adoptSession(key, other, telemetry), nil
		}
	}
	others, err := p.hub.Store.SessionsWithID(ctx, key.Session)
	if err != nil {
		return nil, err
	}
	for _, other := range others {
		if other == key || p.hasLeft(other) {
			continue
		}
		session, err := p.storedSession(ctx, other)
		if err != nil {
			return nil, err
		}
		if telemetry || session.IsTelemetryOnly() {
			p.sessions[other] = session
			return p.adoptSession(key, other, telemetry), nil
		}
	}
	return nil, nil
}

// adoptSession returns the existing session at other. If the new events come from
// hooks, the session and its aggregates first move to their application.
func (p *projection) adoptSession(key, other store.SessionKey, telemetry bool) *digest.Session {
	session := p.sessions[other]
	if telemetry {
		return session
	}
	delete(p.sessions, other)
	p.RemovedSessions = append(p.RemovedSessions, other)
	session.Rekey(key.App)
	m := &session.Sum
	moved := store.Activity{Events: m.Events, Failures: m.Failures, CostUSD: m.CostUSD}
	if m.Tokens != nil {
		moved.Tokens = *m.Tokens
	}
	at := int64(m.LastAt)
	p.addActivity(at, key.App, moved)
	p.addActivity(at, other.App, moved.Negate())
	return session
}

func (p *projection) hasLeft(key store.SessionKey) bool {
	for _, left := range p.RemovedSessions {
		if left == key {
			return true
		}
	}
	return false
}
