package now

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hookback/hookback/agentclient/intent"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// maxRows limits the rows of the log that one report reads. Older ones are skipped.
	maxRows = 20_000
	// pageRows is the number of rows that are read at a time.
	pageRows = 1024
	// maxTracked limits the sessions in memory.
	maxTracked = 2000
)

// Store is the part of a store that a Service reads.
type Store interface {
	store.Log
	store.Questions
	store.Projections
}

// tracker reads the end of the log on request, each row once. It holds the last minutes of each session and
// the open requests. Without requests it costs nothing.
type tracker struct {
	store     Store
	started   bool
	at        int64 // last row read
	knownFrom int64 // Unix ms; the strips are complete since then
	sessions  map[store.SessionKey]*activity
	open      map[schema.EventID]*openRequest
}

// openRequest is a pending question.
type openRequest struct {
	query.OpenRequest
	key     store.SessionKey
	askedAt int64
	text    string
	later   bool // its agent continues without the call
}

// isBlocking reports whether its agent waits for the answer and still listens.
func (r *openRequest) isBlocking() bool { return r.IsLive() && !r.later }

// advance reads the log up to its end.
func (t *tracker) advance(ctx context.Context) error {
	head := t.store.Head()
	if !t.started || head-t.at > maxRows {
		if err := t.restart(ctx, head); err != nil {
			return err
		}
	}
	for t.at < head {
		rows, err := t.store.After(ctx, t.at, pageRows)
		if errors.Is(err, store.ErrPruned) { // retention removed rows while nothing was read
			if err := t.restart(ctx, head); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break
		}
		for i := range rows {
			if err := t.apply(&rows[i]); err != nil {
				return err
			}
		}
	}
	t.forget()
	return nil
}

// restart starts over at the last rows before head, with the requests that are open now.
func (t *tracker) restart(ctx context.Context, head int64) error {
	t.sessions, t.open = map[store.SessionKey]*activity{}, map[schema.EventID]*openRequest{}
	t.started, t.at, t.knownFrom = false, max(head-maxRows, t.store.Pruned(), 0), 0
	if t.at == 0 {
		t.knownFrom = 1
	}
	events, err := t.store.Pending(ctx)
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := t.addRequest(e); err != nil {
			return err
		}
	}
	t.started = true
	return nil
}

func (t *tracker) apply(row *store.LogRow) error {
	e := row.Event
	t.at = row.Seq
	if t.knownFrom == 0 && !row.Change {
		t.knownFrom = e.ReceivedAt.UnixMilli()
	}
	switch {
	case row.Change && !row.Ends:
		if r := t.open[e.ID]; r != nil {
			return readStatus(e, &r.Status)
		}
		return nil
	case e.App == schema.TestApp || digest.IsTelemetry(e.Type) || digest.IsImport(e.Type):
		return nil
	}
	a := t.session(store.SessionKey{App: e.App, Session: e.Session})
	if row.Ends {
		return t.resolve(a, e)
	}
	a.add(e)
	if e.Question == nil {
		return nil
	}
	return t.addRequest(e)
}

func (t *tracker) session(key store.SessionKey) *activity {
	a := t.sessions[key]
	if a == nil {
		a = &activity{}
		t.sessions[key] = a
	}
	return a
}

func readStatus(e *store.Event, into *schema.Status) error {
	*into = schema.Status{}
	if err := json.Unmarshal(e.Status, into); err != nil {
		return fmt.Errorf("read stored status of question %d: %w", e.ID, err)
	}
	return nil
}

// addRequest adds a question, unless it is settled or a test.
func (t *tracker) addRequest(e *store.Event) error {
	open, q, ok, err := query.ReadOpenRequest(e)
	if err != nil || !ok {
		return err
	}
	r := &openRequest{OpenRequest: open, key: store.SessionKey{App: e.App, Session: e.Session}, askedAt: e.ReceivedAt.UnixMilli()}
	r.later = q.Appeal != nil && q.Appeal.Later
	if r.text = q.Question; r.Status.Intent != nil {
		r.text = intent.String(r.Status.Intent)
	}
	r.text = schema.Shorten(r.text, maxText)
	t.open[e.ID] = r
	return nil
}

// resolve ends a question. The call of one that was not approved does not run.
func (t *tracker) resolve(a *activity, e *store.Event) error {
	r := t.open[e.ID]
	delete(t.open, e.ID)
	var st schema.Status
	if err := readStatus(e, &st); err != nil {
		return err
	}
	if a.asked == e.ID {
		if a.asked = 0; st.Source == schema.ByTimeout {
			a.phase = history.PhaseTerminal // its own prompt is left
		}
	}
	if r == nil || r.Asks && !r.later {
		a.addWait(e.ReceivedAt.UnixMilli(), int64(st.RespondedAt))
	}
	if st.Response == nil || st.Response.Permission == nil || !*st.Response.Permission {
		a.end(e.Facts(nil))
	}
	return nil
}

// forget drops the sessions that were active the longest ago, if there are too many.
func (t *tracker) forget() {
	if len(t.sessions) <= maxTracked {
		return
	}
	keys := make([]store.SessionKey, 0, len(t.sessions))
	for key := range t.sessions {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b store.SessionKey) int { return int(t.sessions[b].last.ID - t.sessions[a].last.ID) })
	for _, key := range keys[maxTracked/2:] {
		delete(t.sessions, key)
	}
}

// requestsOf returns the open requests by session, oldest first.
func (t *tracker) requestsOf() map[store.SessionKey][]*openRequest {
	bySession := map[store.SessionKey][]*openRequest{}
	for _, r := range t.open {
		bySession[r.key] = append(bySession[r.key], r)
	}
	for _, list := range bySession {
		slices.SortFunc(list, func(a, b *openRequest) int { return int(a.ID - b.ID) })
	}
	return bySession
}
