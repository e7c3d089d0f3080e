package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// projectorBatch is the number of log rows read per step.
	projectorBatch = 4096
	// largeBacklog is the number of rows above which a step follows the last one immediately.
	largeBacklog = 1024
	// projectorRetry is the delay after a step that failed.
	projectorRetry = time.Second
	// maxUnsavedRows limits the rows without effect that are read again after a
	// restart.
	maxUnsavedRows = 4096
	// maxTranscriptText is how much of the end of a transcript is searchable, in bytes.
	maxTranscriptText = 1 << 20
)

// Run maintains the projections (sessions, tools, decisions, executions) from the log until ctx
// ends. It follows the log like any reader, so events never wait for it. Each batch is committed
// together with the cursor: after a restart the projector resumes exactly where it stopped. It may be
// called again. One hub of a database runs it.
func (s *Service) Run(ctx context.Context) error {
	defer s.progress.start()()
	s.decided.Add(1) // another hub may have projected
	proj := &projector{Service: s, cursor: -1}
	var next time.Time // earliest time of the next step
	var lastErr string
	step := func() (more bool) {
		began, before := time.Now(), proj.at
		more, err := proj.step(ctx)
		next = time.Time{}
		if proj.at > before && s.Store.Head()-proj.at < largeBacklog {
			next = began.Add(stepInterval)
		}
		switch {
		case err == nil:
			lastErr = ""
			s.progress.reach(proj.at)
		case ctx.Err() == nil:
			if err.Error() != lastErr {
				s.Log.Error("projection failed; sessions and statistics are out of date", "retry_in", projectorRetry, "err", err)
			}
			lastErr, more, next = err.Error(), true, time.Now().Add(projectorRetry)
		}
		return more
	}
	_ = s.Feed.Follow(ctx, feed.Entry, func(*feed.Batch) error { // ends with ctx
		for s.progress.wake.Wait(ctx, time.Until(next)) && step() {
			continue
		}
		return nil
	})
	return nil
}

// projector is the position of Run in the log.
type projector struct {
	*Service
	cursor int64        // as stored; negative until it is read
	at     int64        // last row read; the rows after cursor had no effect
	cache  sessionCache // sessions as they are stored
}

// step projects the next batch of the log. It reports whether there is another one.
func (p *projector) step(ctx context.Context) (more bool, err error) {
	if p.cursor < 0 {
		if p.cursor, err = p.Store.ProjectionCursor(ctx); err != nil {
			p.cursor = -1
			return false, err
		}
		p.at = p.cursor
	}
	entries, upTo, err := p.Store.LogEntries(ctx, store.ProjectionReader, p.at, projectorBatch)
	if err != nil || upTo == p.at {
		return false, err
	}
	batch := &projection{
		service: p.Service, cache: &p.cache, sessions: map[store.SessionKey]*digest.Session{}, spenders: map[store.SessionKey]bool{},
		moved: map[*digest.Session]bool{}, texts: map[*digest.Session]*store.TranscriptText{},
		ProjectionBatch: store.ProjectionBatch{
			From: p.cursor, To: upTo,
			Activity: map[store.ActivityKey]store.Activity{}, Decisions: map[store.Decision]int64{},
			ToolTimes: map[store.ToolKey]store.ToolTime{}, Spend: map[store.SpendKey]store.Spend{},
		},
	}
	for i := range entries {
		if err == nil {
			err = batch.apply(ctx, &entries[i])
		}
	}
	if err == nil && (len(entries) > 0 || upTo-p.cursor >= maxUnsavedRows) {
		if err = batch.commit(ctx); err == nil {
			p.cursor = upTo
		}
	}
	if err != nil {
		p.cursor = -1 // read it again: another writer may have moved it
		p.cache.clear()
		return false, err
	}
	p.at = upTo
	return upTo < p.Store.Head(), nil
}

// projection collects the aggregates that one batch of the log adds.
type projection struct {
	store.ProjectionBatch
	service    *Service
	cache      *sessionCache
	sessions   map[store.SessionKey]*digest.Session // state after the rows applied so far
	executions []digest.ExecutionOutcome
	spenders   map[store.SessionKey]bool                 // sessions whose cost rose
	texts      map[*digest.Session]*store.TranscriptText // of new transcripts
	moved      map[*digest.Session]bool                  // sessions whose application, person or directory changed
	isNews     bool                                      // has a new session or an execution, which pages show immediately
}

func (p *projection) apply(ctx context.Context, e *store.LogEntry) error {
	if e.Event.App == schema.TestApp {
		return nil // no agent did anything
	}
	session, err := p.session(ctx, e.Event)
	if err != nil {
		return err
	}
	facts := e.Event.Facts(e.Transcript)
	if e.Ends {
		p.addResolution(session, facts, e.Event.Status)
	} else {
		p.addEvent(session, facts)
	}
	if !e.Ends && e.Transcript != nil && session.Sum.Transcript == e.Event.ID {
		p.texts[session] = &store.TranscriptText{Event: e.Event.ID, Text: filter.TranscriptText(e.Transcript, maxTranscriptText)}
	}
	return nil
}

// session returns the session of an event, in its state before the event.
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
		merged, err := p.telemetryHome(ctx, key, digest.IsTelemetry(e.Type))
		if err != nil {
			return nil, err
		}
		if merged != nil {
			session, key.App = merged, merged.Sum.SourceApp
		}
	}
	p.sessions[key] = session
	return session, nil
}

// storedSession returns the stored session, or a new one if there is none.
func (p *projection) storedSession(ctx context.Context, key store.SessionKey) (*digest.Session, error) {
	session := &digest.Session{}
	if p.hasLeft(key) {
		return session, nil
	}
	if cached := p.cache.take(key, p.service.Store.Pruned()); cached != nil {
		return cached, nil
	}
	facts, err := p.service.Store.SessionFacts(ctx, key.App, key.Session)
	if err != nil || facts == nil {
		return session, err
	}
	if err := json.Unmarshal(facts, session); err != nil {
		return nil, fmt.Errorf("read stored session %q of %q: %w", key.Session, key.App, err)
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
	person, cwd := session.Sum.Person, session.Sum.Cwd
	step := session.Add(f)
	if (session.Sum.Person != person || session.Sum.Cwd != cwd) && !step.New {
		p.moved[session] = true
	}
	if f.Import != nil {
		p.addImport(session, f.App, &step)
		return
	}
	for _, part := range step.Spend {
		key := store.SpendKey{Session: session.Sum.FirstID, Quarter: quarterHour(f.At), Model: part.Model}
		p.Spend[key] = p.Spend[key].Add(store.Spend{Tokens: part.Tokens, CostUSD: part.Cost})
	}
	p.isNews = p.isNews || step.New || step.Execution != nil
	a := store.Activity{Events: 1, Tokens: step.Tokens, CostUSD: step.Cost}
	if step.Cost > 0 {
		p.spenders[store.SessionKey{App: f.App, Session: f.Session}] = true
	}
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

// addImport adds an import by the times of its session. It is no news: nothing happens now.
func (p *projection) addImport(session *digest.Session, app string, step *digest.Step) {
	in := step.Import
	if in == nil {
		return // the session is known from other events
	}
	first, total := session.Sum.FirstID, store.Activity{Events: 1}
	for _, u := range in.Usage {
		used := store.Spend{Tokens: u.Tokens, CostUSD: u.CostUSD}
		key := store.SpendKey{Session: first, Quarter: quarterHour(int64(u.At)), Model: u.Model}
		p.Spend[key] = p.Spend[key].Add(used)
		p.addActivity(int64(u.At), app, store.Activity{Tokens: used.Tokens, CostUSD: used.CostUSD})
	}
	for _, t := range in.Tools {
		key := store.ToolKey{Session: first, Quarter: quarterHour(in.At), Tool: t.Tool, Bucket: -1}
		p.ToolTimes[key] = p.ToolTimes[key].Add(store.ToolTime{Calls: t.Calls, Failures: t.Failures})
		total.Tools, total.Failures = total.Tools+t.Calls, total.Failures+t.Failures
	}
	p.addActivity(in.At, app, total)
}

func (p *projection) addToolUse(session schema.EventID, at int64, use *digest.ToolUse) {
	key := store.ToolKey{Session: session, Quarter: quarterHour(at), Tool: use.Tool, Bucket: -1}
	if use.MS >= 0 {
		key.Bucket = digest.Bucket(use.MS)
	}
	sum := p.ToolTimes[key]
	sum.Calls++
	sum.TotalMS += max(0, use.MS)
	if use.Failed {
		sum.Failures++
	}
	p.ToolTimes[key] = sum
}

// addResolution counts the end of a question. If retention already removed the session,
// only the decision is counted.
func (p *projection) addResolution(session *digest.Session, question *digest.EventFacts, status []byte) {
	var st schema.Status
	if json.Unmarshal(status, &st) != nil {
		return
	}
	at := int64(st.RespondedAt)
	waited := max(0, at-question.At)
	blocked := waited
	if session.Sum.Events > 0 {
		waited, blocked = session.ResolveQuestion(question, at)
	}
	p.Decisions[store.Decision{
		Quarter: quarterHour(at), App: question.App, Outcome: outcomeClass(&st), Person: st.Source == schema.ByHuman, Bucket: digest.Bucket(waited),
	}]++
	p.addActivity(at, question.App, store.Activity{WaitedMS: blocked})
}

// Outcome classes. They match the members of history.DayCount.
const (
	classApproved  = "approved"
	classDenied    = "denied"
	classAnswered  = "answered"
	classTimedOut  = "timeout"
	classCanceled  = "cancelled"
	classDismissed = "dismissed"
	classGone      = "gone"
	classOther     = "other"
)

// outcomeClass maps an outcome to its class, so that labels chosen by agents never
// enter the statistics.
func outcomeClass(st *schema.Status) string {
	switch {
	case st.Outcome == schema.Timeout:
		return classTimedOut
	case st.Source == schema.ByDismissal:
		return classDismissed
	case st.Source == schema.ByOrphaned, st.Source == schema.BySessionEnd:
		return classGone
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

// commit writes the batch. Execution outcomes are written first: each is a change of
// the question like any other, and repeating it after a failure has no effect.
func (p *projection) commit(ctx context.Context) error {
	for i := range p.executions {
		e := &p.executions[i]
		err := p.service.Executions.RecordExecution(ctx, e.Question, e.Execution, e.At)
		if err != nil && !errors.Is(err, schema.ErrNotFound) { // removed by retention
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
			return fmt.Errorf("encode session of event %d: %w", m.FirstID, err)
		}
		p.Sessions = append(p.Sessions, store.SessionRow{
			App: key.App, Session: key.Session, Person: m.Person, Project: m.Cwd, Moved: p.moved[session], First: m.FirstID, Last: m.LastID,
			Active: int64(m.LastAt), Imported: m.Imported != "", Transcript: p.texts[session], Facts: facts,
			Text: strings.ToLower(strings.Join([]string{m.Title, key.App, key.Session, m.Cwd}, "\n")),
		})
	}
	if len(p.Decisions) > 0 {
		defer p.service.decided.Add(1) // also after an error: the write may have succeeded
	}
	if !p.isNews {
		p.JoinUntil = p.service.progress.joinUntil()
		defer time.AfterFunc(maxJoin, p.service.progress.hurry).Stop()
	}
	err := p.service.Store.ApplyProjection(ctx, &p.ProjectionBatch)
	if err == nil {
		p.reportSpenders(ctx)
		p.cache.put(p.sessions, p.Sessions)
	}
	return err
}

// reportSpenders notifies the observer of sessions that cost more than before the batch.
func (p *projection) reportSpenders(ctx context.Context) {
	if p.service.Spending == nil {
		return
	}
	for key := range p.spenders {
		if session := p.sessions[key]; session != nil { // it may have moved to another application
			p.service.Spending.SessionSpent(ctx, key, session)
		}
	}
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
	others, err := p.service.Store.SessionsWithID(ctx, key.Session)
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
	session.Sum.SourceApp = key.App
	p.moved[session] = true
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
	return slices.Contains(p.RemovedSessions, key)
}

// maxCachedSessions and maxCachedBytes limit the cache of sessions. Bytes count the stored
// facts.
const (
	maxCachedSessions = 512
	maxCachedBytes    = 4 << 20
)

// sessionCache holds the sessions of the last batches as they are stored, so that a session with
// events in every batch is not read and decoded each time.
type sessionCache struct {
	sessions map[store.SessionKey]*digest.Session
	bytes    int // written since the cache was empty
}

// take removes and returns a session, or returns nil. The caller may change it, and puts it back
// once the change is stored. Retention may have removed a session whose events are all in the
// log up to pruned, so that one is not returned.
func (c *sessionCache) take(key store.SessionKey, pruned int64) *digest.Session {
	session := c.sessions[key]
	delete(c.sessions, key)
	if session == nil || int64(session.Sum.LastID) <= pruned {
		return nil
	}
	return session
}

// put adds the sessions that were stored as these rows.
func (c *sessionCache) put(sessions map[store.SessionKey]*digest.Session, rows []store.SessionRow) {
	for i := range rows {
		c.bytes += len(rows[i].Facts)
	}
	if c.sessions == nil || len(c.sessions)+len(sessions) > maxCachedSessions || c.bytes > maxCachedBytes {
		c.clear()
	}
	for key, session := range sessions {
		if session.Sum.Events > 0 && len(c.sessions) < maxCachedSessions {
			c.sessions[key] = session
		}
	}
}

// clear drops all sessions, for which the stored ones may be different.
func (c *sessionCache) clear() {
	c.sessions, c.bytes = map[store.SessionKey]*digest.Session{}, 0
}
