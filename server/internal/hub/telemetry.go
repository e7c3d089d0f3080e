package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/sessions/otlp"
	"github.com/hookback/hookback/server/internal/store"
)

// TelemetryResult counts the records of a request by outcome.
type TelemetryResult struct{ Stored, Ignored, Rejected int }

// IngestTelemetry converts the records of an OTLP request to events of the sessions they name
// and stores them. parse is a reader of package otlp. Records of facts that hooks report are
// ignored. If an event can't be stored, it returns an error; the exporter then sends everything
// again, and deduplication stores only the rest.
func (h *Hub) IngestTelemetry(
	ctx context.Context, parse func([]byte) (otlp.Batch, error), body []byte, caller Caller,
) (TelemetryResult, error) {
	batch, err := parse(body)
	if errors.Is(err, otlp.ErrMalformed) {
		return TelemetryResult{}, invalidField("", "must be an OTLP request with at most %d records", otlp.MaxRecords)
	}
	if err != nil {
		return TelemetryResult{}, err
	}
	result := TelemetryResult{Ignored: batch.Ignored, Rejected: batch.Rejected}
	apps := map[string]string{}
	var drafts []*store.EventDraft
	var firstErr error // of draft, such as an invalid name, or an application that the token is not valid for
	for i := range batch.Events {
		e := &batch.Events[i]
		if e.SourceApp, err = h.telemetryApp(ctx, e, apps); err != nil {
			return result, err
		}
		encoded, err := json.Marshal(e)
		if err != nil {
			return result, fmt.Errorf("encode event of record: %w", err)
		}
		d, err := h.draft(ctx, encoded, caller)
		if err != nil {
			result.Rejected++
			firstErr = cmp.Or(firstErr, err)
			continue
		}
		drafts = append(drafts, &d.EventDraft)
	}
	if firstErr != nil {
		h.Log.Warn("telemetry records rejected; their usage is not counted", "records", len(batch.Events)-len(drafts), "err", firstErr)
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
