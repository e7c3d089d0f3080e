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
	proj := projector{hub: h, cursor: -1}
	var pace pacer
	for lastErr := ""; ctx.Err() == nil; {
		began, before := time.Now(), proj.at
		more, err := proj.step(ctx)
		next := pace.nextStart(batchTiming{began: began, ended: time.Now(), rows: proj.at - before})
		h.Store.Throttle(ctx, time.Since(began))
		switch {
		case err == nil:
			lastErr = ""
		case ctx.Err() == nil:
			if err.Error() != lastErr {
				h.Log.Error("sums of the log are not up to date; trying again", "every", projectorRetry, "err", err)
			}
			lastErr, more, next = err.Error(), true, time.Now().Add(projectorRetry)
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
func (p *projector) step(ctx context.Context) (more bool, err error) {
	db := p.hub.Store
	if p.cursor < 0 {
		if p.cursor, err = db.Cursor(ctx); err != nil {
			p.cursor = -1
			return false, err
		}
		p.at = p.cursor
	}
	entries, upTo, err := db.LogEntries(ctx, p.at, projectorBatch)
	if err != nil || upTo == p.at {
		return false, err
	}
	batch := &projection{hub: p.hub, sessions: map[store.SessionKey]*digest.Session{}, ProjectionBatch: store.ProjectionBatch{
		From: p.cursor, To: upTo,
		Activity: map[store.ActivityKey]store.Activity{}, Decisions: map[store.Decision]int64{}, Tools: map[store.ToolKey]store.ToolTime{},
	}}
	for i := range entries {
		if err := batch.apply(ctx, &entries[i]); err != nil {
			return false, err
		}
	}
	if len(entries) > 0 || upTo-p.cursor >= maxUnsavedRows {
		if err := batch.commit(ctx); err != nil {
			p.cursor = -1 // read it again: the write may have been somebody else's
			return false, err
		}
		p.cursor = upTo
	}
	p.at = upTo
	return true, nil
}

// projection is what a stretch of the log adds.
type projection struct {
	store.ProjectionBatch
	hub        *Hub
	sessions   map[store.SessionKey]*digest.Session // :: as they are after what was taken
	executions []digest.ExecutionOutcome
}

func (p *projection) apply(ctx context.Context, e *store.LogEntry) error {
	session, err := p.session(ctx, e.Event)
	if err != nil {
		return err
	}
	facts := digest.Parse(&digest.Event{
		ID: e.Event.ID, At: e.Event.ReceivedAt.UnixMilli(), App: e.Event.App, Session: e.Event.Session,
		Type: e.Event.Type, Tool: e.Event.Tool,
		Envelope: e.Event.Envelope, Payload: e.Event.Payload, Question: e.Event.Question, Chat: e.Chat,
	})
	if e.Ends {
		p.addResolution(session, facts, e.Event.Status)
	} else {
		p.addEvent(session, facts)
	}
	return nil
}

// session is the session of an event, as it is before the event.
func (p *projection) session(ctx context.Context, e *store.Event) (*digest.Session, error) {
	key := store.SessionKey{App: e.App, Session: e.Session}
	if session := p.sessions[key]; session != nil {
		return session, nil
	}
	session, err := p.storedSession(ctx, key)
	if err != nil {
		return nil, err
	}
	if session.Sum.Events == 0 {
		home, err := p.telemetryHome(ctx, key, digest.Telemetry(e.Type))
		if err != nil {
			return nil, err
		}
		if home != nil {
			session, key.App = home, home.Sum.SourceApp
		}
	}
	p.sessions[key] = session
	return session, nil
}

// storedSession is what is kept of a session; a new one where there is none.
func (p *projection) storedSession(ctx context.Context, key store.SessionKey) (*digest.Session, error) {
	session := &digest.Session{}
	facts, err := p.hub.Store.SessionFacts(ctx, key.App, key.Session)
	if err != nil || facts == nil || p.hasLeft(key) {
		return session, err
	}
	if err := json.Unmarshal(facts, session); err != nil {
		return nil, fmt.Errorf("reading the stored session %q of %q: %w", key.Session, key.App, err)
	}
	return session, nil
}

func quarterHour(at int64) int64 { return at / store.QuarterMS }

func (p *projection) addActivity(at int64, app string, a store.Activity) {
	key := store.ActivityKey{Quarter: quarterHour(at), App: app}
	p.Activity[key] = a.Add(p.Activity[key])
}

func (p *projection) addEvent(session *digest.Session, f *digest.EventFacts) {
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
		p.addToolUse(session.Sum.FirstID, f.At, use)
	}
	p.addActivity(f.At, f.App, a)
	if step.Execution != nil {
		p.executions = append(p.executions, *step.Execution)
	}
}

func (p *projection) addToolUse(session schema.EventID, at int64, use *digest.ToolUse) {
	key := store.ToolKey{Session: session, Quarter: quarterHour(at), Tool: use.Tool, Bin: -1}
	if use.MS >= 0 {
		key.Bin = digest.Bucket(use.MS)
	}
	sum := p.Tools[key]
	sum.Calls++
	sum.TotalMS += max(0, use.MS)
	if use.Failed {
		sum.Failures++
	}
	p.Tools[key] = sum
}

// addResolution takes the end of a question. A session that retention removed meanwhile has
// no more figures, but the decision counts.
func (p *projection) addResolution(session *digest.Session, question *digest.EventFacts, status []byte) {
	var st schema.Status
	if json.Unmarshal(status, &st) != nil {
		return
	}
	at := int64(st.RespondedAt)
	waited := max(0, at-question.At)
	if session.Sum.Events > 0 {
		waited = session.ResolveQuestion(question, at)
	}
	p.Decisions[store.Decision{
		Quarter: quarterHour(at), App: question.App, Outcome: outcomeClass(&st), Person: st.Source == schema.ByHuman, Bin: digest.Bucket(waited),
	}]++
	p.addActivity(at, question.App, store.Activity{WaitedMS: waited})
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
func (p *projection) commit(ctx context.Context) error {
	for i := range p.executions {
		if err := p.hub.setExecution(ctx, &p.executions[i]); err != nil {
			return err
		}
	}
	for key, session := range p.sessions {
		m := &session.Sum
		if m.Events == 0 {
			continue
		}
		facts, err := json.Marshal(session)
		if err != nil {
			return fmt.Errorf("encoding the session of event %d: %w", m.FirstID, err)
		}
		p.Sessions = append(p.Sessions, store.SessionRow{
			App: key.App, Session: key.Session, First: m.FirstID, Last: m.LastID, Facts: facts,
			Text: strings.ToLower(strings.Join([]string{m.Title, key.App, key.Session, m.Cwd}, "\n")),
		})
	}
	if len(p.Decisions) > 0 {
		defer p.hub.overviews.invalidate() // once it is written, or may be
	}
	return p.hub.Store.ApplyProjection(ctx, &p.ProjectionBatch)
}

// setExecution notes in the question's status what became of its call. A call may run
// that was never approved: then this says so.
func (h *Hub) setExecution(ctx context.Context, outcome *digest.ExecutionOutcome) error {
	_, err := h.transition(ctx, outcome.Question, func(s *snapshot) (*store.Change, error) {
		if s.status.Execution != nil {
			return nil, nil // told before a restart
		}
		st, execution := s.status, outcome.Execution
		if st.Outcome == schema.Approve {
			execution.DurationMS = max(0, outcome.At-int64(st.RespondedAt))
		}
		st.Execution = &execution
		return s.change(st)
	})
	if errors.Is(err, schema.ErrNotFound) {
		return nil // retention took the question
	}
	return err
}
