package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/digest"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// projectorBatch is how much of the log is taken at a time.
	projectorBatch = 512
	// projectorRetry is how long a step that failed waits for the next try.
	projectorRetry = time.Second
	// maxUnsavedRows is how much of the log that says nothing may be read again after
	// a restart.
	maxUnsavedRows = 4096
)

// RunProjector tells sessions, tools, decisions and executions from the log until ctx
// ends. It reads behind the log like a page does, so no event waits for it, and
// its cursor is written with what it told: after a restart it goes on exactly
// where it was.
func (h *Hub) RunProjector(ctx context.Context) error {
	f := projector{hub: h, cursor: -1}
	var p pacer
	for failed := ""; ctx.Err() == nil; {
		began, at := time.Now(), f.at
		more, err := f.step(ctx)
		next := p.nextStart(batchTiming{began: began, ended: time.Now(), rows: f.at - at})
		h.Store.Throttle(ctx, time.Since(began))
		switch {
		case err == nil:
			failed = ""
		case ctx.Err() == nil:
			if err.Error() != failed {
				h.Log.Error("sums of the log are not up to date; trying again", "every", projectorRetry, "err", err)
			}
			failed, more, next = err.Error(), true, time.Now().Add(projectorRetry)
		}
		if !more {
			select {
			case <-h.logGrown:
			case <-ctx.Done():
				return nil
			}
		}
		sleep(ctx, time.Until(next))
	}
	return nil
}

// projector is how far Derive has come.
type projector struct {
	hub    *Hub
	cursor int64 // as stored; below 0: not read yet
	at     int64 // read up to here; nothing is told from what lies between
}

// step takes the next stretch of the log; false when there is none.
func (f *projector) step(ctx context.Context) (more bool, err error) {
	db := f.hub.Store
	if f.cursor < 0 {
		if f.cursor, err = db.Cursor(ctx); err != nil {
			f.cursor = -1
			return false, err
		}
		f.at = f.cursor
	}
	entries, upTo, err := db.LogEntries(ctx, f.at, projectorBatch)
	if err != nil || upTo == f.at {
		return false, err
	}
	s := &projection{hub: f.hub, sessions: map[store.SessionKey]*digest.Session{}, ProjectionBatch: store.ProjectionBatch{
		From: f.cursor, To: upTo,
		Activity: map[store.ActivityKey]store.Activity{}, Decisions: map[store.Decision]int64{}, Tools: map[store.ToolKey]store.ToolTime{},
	}}
	for i := range entries {
		if err := s.apply(ctx, &entries[i]); err != nil {
			return false, err
		}
	}
	if len(entries) > 0 || upTo-f.cursor >= maxUnsavedRows {
		if err := s.commit(ctx); err != nil {
			f.cursor = -1 // read it again: the write may have been somebody else's
			return false, err
		}
		f.cursor = upTo
	}
	f.at = upTo
	return true, nil
}

// projection is what a stretch of the log adds.
type projection struct {
	store.ProjectionBatch
	hub        *Hub
	sessions   map[store.SessionKey]*digest.Session // :: as they are after what was taken
	executions []digest.ExecutionOutcome
}

func (s *projection) apply(ctx context.Context, e *store.LogEntry) error {
	session, err := s.session(ctx, e.Event)
	if err != nil {
		return err
	}
	facts := digest.Parse(&digest.Event{
		ID: e.Event.ID, At: e.Event.ReceivedAt.UnixMilli(), App: e.Event.App, Session: e.Event.Session,
		Type: e.Event.Type, Tool: e.Event.Tool,
		Envelope: e.Event.Envelope, Payload: e.Event.Payload, Question: e.Event.Question, Chat: e.Chat,
	})
	if e.Ends {
		s.addResolution(session, facts, e.Event.Status)
	} else {
		s.addEvent(session, facts)
	}
	return nil
}

// session is the session of an event, as it is before the event.
func (s *projection) session(ctx context.Context, e *store.Event) (*digest.Session, error) {
	key := store.SessionKey{App: e.App, Session: e.Session}
	if known := s.sessions[key]; known != nil {
		return known, nil
	}
	session, err := s.storedSession(ctx, key)
	if err != nil {
		return nil, err
	}
	if session.Sum.Events == 0 {
		home, err := s.telemetryHome(ctx, key, digest.Telemetry(e.Type))
		if err != nil {
			return nil, err
		}
		if home != nil {
			session, key.App = home, home.Sum.SourceApp
		}
	}
	s.sessions[key] = session
	return session, nil
}

// storedSession is what is kept of a session; a new one where there is none.
func (s *projection) storedSession(ctx context.Context, key store.SessionKey) (*digest.Session, error) {
	session := &digest.Session{}
	facts, err := s.hub.Store.SessionFacts(ctx, key.App, key.Session)
	if err != nil || facts == nil || s.hasLeft(key) {
		return session, err
	}
	if err := json.Unmarshal(facts, session); err != nil {
		return nil, fmt.Errorf("reading the stored session %q of %q: %w", key.Session, key.App, err)
	}
	return session, nil
}

func quarterHour(at int64) int64 { return at / store.QuarterMS }

func (s *projection) addActivity(at int64, app string, a store.Activity) {
	key := store.ActivityKey{Quarter: quarterHour(at), App: app}
	s.Activity[key] = a.Add(s.Activity[key])
}

func (s *projection) addEvent(session *digest.Session, f *digest.EventFacts) {
	f.App = cmp.Or(session.Sum.SourceApp, f.App)
	step := session.Add(f)
	a := store.Activity{Events: 1, Tokens: step.Tokens, CostUSD: step.Cost}
	if f.HasQuestion {
		a.Questions = 1
	}
	if step.Failed {
		a.Failures = 1
	}
	if use := step.Ended; use != nil {
		a.Tools = 1
		s.addToolUse(session.Sum.FirstID, f.At, use)
	}
	s.addActivity(f.At, f.App, a)
	if step.Execution != nil {
		s.executions = append(s.executions, *step.Execution)
	}
}

func (s *projection) addToolUse(session schema.EventID, at int64, use *digest.ToolUse) {
	key := store.ToolKey{Session: session, Quarter: quarterHour(at), Tool: use.Tool, Bin: -1}
	if use.MS >= 0 {
		key.Bin = digest.Bucket(use.MS)
	}
	sum := s.Tools[key]
	sum.Calls++
	sum.TotalMS += max(0, use.MS)
	if use.Failed {
		sum.Failures++
	}
	s.Tools[key] = sum
}

// addResolution takes the end of a question. A session that retention removed meanwhile has
// no more figures, but the decision counts.
func (s *projection) addResolution(session *digest.Session, asked *digest.EventFacts, status []byte) {
	var st schema.Status
	if json.Unmarshal(status, &st) != nil {
		return
	}
	at := int64(st.RespondedAt)
	waited := max(0, at-asked.At)
	if session.Sum.Events > 0 {
		waited = session.ResolveQuestion(asked, at)
	}
	s.Decisions[store.Decision{
		Quarter: quarterHour(at), App: asked.App, Outcome: outcomeClass(&st), Person: st.Source == schema.ByHuman, Bin: digest.Bucket(waited),
	}]++
	s.addActivity(at, asked.App, store.Activity{WaitedMS: waited})
}

// The classes of outcomes, as the members of schema.DayCount are called.
const (
	classApproved = "approved"
	classDenied   = "denied"
	classAnswered = "answered"
	classTimedOut = "timeout"
	classCanceled = "cancelled"
	classOther    = "other"
)

// outcomeClass keeps agents' own labels out of the figures.
func outcomeClass(st *schema.Status) string {
	switch {
	case st.Outcome == schema.Timeout:
		return classTimedOut
	case st.Outcome == schema.Cancelled, st.Outcome == schema.Withdrawn:
		return classCanceled
	case st.Status != schema.Responded:
		return classOther
	case st.Response != nil && st.Response.Permission != nil && *st.Response.Permission:
		return classApproved
	case st.Response != nil && st.Response.Permission != nil:
		return classDenied
	default:
		return classAnswered
	}
}

// commit commits what was told. What became of approved calls is written first: it
// is a change of the question like any other, which a second time changes nothing.
func (s *projection) commit(ctx context.Context) error {
	for i := range s.executions {
		if err := s.hub.setExecution(ctx, &s.executions[i]); err != nil {
			return err
		}
	}
	for key, session := range s.sessions {
		m := &session.Sum
		if m.Events == 0 {
			continue
		}
		facts, err := json.Marshal(session)
		if err != nil {
			return fmt.Errorf("encoding the session of event %d: %w", m.FirstID, err)
		}
		s.Sessions = append(s.Sessions, store.SessionRow{
			App: key.App, Session: key.Session, First: m.FirstID, Last: m.LastID, Facts: facts,
			Text: strings.ToLower(strings.Join([]string{m.Title, key.App, key.Session, m.Cwd}, "\n")),
		})
	}
	if len(s.Decisions) > 0 {
		defer s.hub.overviews.invalidate() // once it is written, or may be
	}
	return s.hub.Store.ApplyProjection(ctx, &s.ProjectionBatch)
}

// setExecution notes in the question's status what became of its call. A call may run
// that was never approved: then this says so.
func (h *Hub) setExecution(ctx context.Context, ran *digest.ExecutionOutcome) error {
	_, err := h.transition(ctx, ran.Question, func(a *snapshot) (*store.Change, error) {
		if a.status.Execution != nil {
			return nil, nil // told before a restart
		}
		st, execution := a.status, ran.Execution
		if st.Outcome == schema.Approve {
			execution.DurationMS = max(0, ran.At-int64(st.RespondedAt))
		}
		st.Execution = &execution
		return a.change(st)
	})
	if errors.Is(err, schema.ErrNotFound) {
		return nil // retention took the question
	}
	return err
}
