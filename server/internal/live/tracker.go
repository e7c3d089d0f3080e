// Package live knows what sessions do now, from the end of the log. Package now shows it, and packages alerts
// and safety watch it. Each row is read once, when one of them asks: without them it costs nothing.
package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/hookback/hookback/agentclient/intent"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// maxRows limits the rows of the log that are read at once. Older ones are skipped.
	maxRows = 20_000
	// pageRows is the number of rows that are read at a time.
	pageRows = 1024
	// maxTracked limits the sessions in memory. The half without events for longest is then forgotten.
	maxTracked = 10_000
)

// Store is the part of a store that a Tracker reads.
type Store interface {
	store.Log
	store.Questions
	store.Projections
}

// Tracker holds the last minutes of each session and the open requests. Its fields may be read within Do.
type Tracker struct {
	At        int64 // last row read
	KnownFrom int64 // Unix ms; the strips are complete since then
	Sessions  map[store.SessionKey]*Activity
	Open      map[schema.EventID]*Request

	mu        sync.Mutex
	store     Store
	started   bool
	onFailure func(f *digest.EventFacts, equal int)
	after     int64 // last row whose failure is not reported
}

// New returns a tracker that has read nothing.
func New(s Store) *Tracker { return &Tracker{store: s} }

// Request is a pending question.
type Request struct {
	query.OpenRequest
	AskedAt int64
	Text    string
	Later   bool // its agent continues without the call
	key     store.SessionKey
}

// IsBlocking reports whether its agent waits for the answer and still listens.
func (r *Request) IsBlocking() bool { return r.IsLive() && !r.Later }

// Do reads the log up to its end and calls read, while no other caller does.
func (t *Tracker) Do(ctx context.Context, read func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.advance(ctx); err != nil {
		return err
	}
	return read()
}

// OnFailure calls fn, or nothing if it is nil, for each failed call that is stored from now on, within Do. equal is the
// number of equal failures of that agent in a row, with earlier ones.
func (t *Tracker) OnFailure(fn func(f *digest.EventFacts, equal int)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onFailure, t.after = fn, t.store.Head()
}

// advance reads the log up to its end.
func (t *Tracker) advance(ctx context.Context) error {
	head := t.store.Head()
	if !t.started || head-t.At > maxRows {
		if err := t.restart(ctx, head); err != nil {
			return err
		}
	}
	for t.At < head {
		rows, err := t.store.After(ctx, t.At, pageRows)
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
			t.apply(&rows[i])
		}
	}
	t.forget()
	return nil
}

// restart starts over at the last rows before head, with the requests that are open now.
func (t *Tracker) restart(ctx context.Context, head int64) error {
	t.Sessions, t.Open = map[store.SessionKey]*Activity{}, map[schema.EventID]*Request{}
	t.started, t.At, t.KnownFrom = false, max(head-maxRows, t.store.Pruned(), 0), 0
	if t.At == 0 {
		t.KnownFrom = 1
	}
	events, err := t.store.Pending(ctx)
	if err != nil {
		return err
	}
	for _, e := range events {
		t.addRequest(e)
	}
	t.started = true
	return nil
}

// apply adds a row. A question that can't be read is left out: alerts and freezes go on without it.
func (t *Tracker) apply(row *store.LogRow) {
	e := row.Event
	t.At = row.Seq
	if t.KnownFrom == 0 && !row.Change {
		t.KnownFrom = e.ReceivedAt.UnixMilli()
	}
	switch {
	case row.Change && !row.Ends:
		if r := t.Open[e.ID]; r != nil {
			r.Status = readStatus(e)
		}
		return
	case e.App == schema.TestApp || digest.IsImport(e.Type):
		return
	}
	a := t.session(store.SessionKey{App: e.App, Session: e.Session})
	a.LastAt = max(a.LastAt, e.ReceivedAt.UnixMilli())
	switch {
	case row.Ends:
		t.resolve(a, e)
		return
	case digest.IsTelemetry(e.Type): // a sign of life, and no activity
		return
	}
	if row.Seq > t.after {
		a.add(e, t.onFailure)
	} else {
		a.add(e, nil)
	}
	if e.Question != nil {
		t.addRequest(e)
	}
}

func (t *Tracker) session(key store.SessionKey) *Activity {
	a := t.Sessions[key]
	if a == nil {
		a = &Activity{}
		t.Sessions[key] = a
	}
	return a
}

func readStatus(e *store.Event) (st schema.Status) {
	_ = json.Unmarshal(e.Status, &st)
	return st
}

// addRequest adds a question, unless it is settled or a test.
func (t *Tracker) addRequest(e *store.Event) {
	open, q, ok, err := query.ReadOpenRequest(e)
	if err != nil || !ok {
		return
	}
	r := &Request{OpenRequest: open, key: store.SessionKey{App: e.App, Session: e.Session}, AskedAt: e.ReceivedAt.UnixMilli()}
	r.Later = q.Appeal != nil && q.Appeal.Later
	if r.Text = q.Question; r.Status.Intent != nil {
		r.Text = intent.String(r.Status.Intent)
	}
	r.Text = schema.Shorten(r.Text, maxText)
	t.Open[e.ID] = r
}

// resolve ends a question. The call of one that was not approved does not run.
func (t *Tracker) resolve(a *Activity, e *store.Event) {
	r, st := t.Open[e.ID], readStatus(e)
	delete(t.Open, e.ID)
	if a.asked == e.ID {
		if a.asked = 0; st.Source == schema.ByTimeout {
			a.Phase = history.PhaseTerminal // its own prompt is left
		}
	}
	a.LastAt = max(a.LastAt, int64(cmp.Or(st.RespondedAt, st.ExpiresAt))) // the agent works again from here
	if r == nil || r.Asks && !r.Later {
		a.addWait(e.ReceivedAt.UnixMilli(), int64(st.RespondedAt))
	}
	if st.Response == nil || st.Response.Permission == nil || !*st.Response.Permission {
		a.end(e.Facts(nil))
	}
}

// forget drops the sessions that were active the longest ago, if there are too many.
func (t *Tracker) forget() {
	if len(t.Sessions) <= maxTracked {
		return
	}
	keys := make([]store.SessionKey, 0, len(t.Sessions))
	for key := range t.Sessions {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b store.SessionKey) int {
		x, y := t.Sessions[a], t.Sessions[b]
		return cmp.Or(cmp.Compare(y.LastAt, x.LastAt), cmp.Compare(y.Last.ID, x.Last.ID))
	})
	for _, key := range keys[maxTracked/2:] {
		delete(t.Sessions, key)
	}
}

// Requests are the open requests by session, oldest first.
type Requests map[store.SessionKey][]*Request

// Requests returns the open requests.
func (t *Tracker) Requests() Requests {
	bySession := Requests{}
	for _, r := range t.Open {
		bySession[r.key] = append(bySession[r.key], r)
	}
	for _, list := range bySession {
		slices.SortFunc(list, func(a, b *Request) int { return cmp.Compare(a.ID, b.ID) })
	}
	return bySession
}
