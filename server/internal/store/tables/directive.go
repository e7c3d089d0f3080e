package tables

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

// hasOutstanding reports whether anything may wait for an event of the session. An event of any other session
// costs no query.
func (t *Tables) hasOutstanding(e *store.Event) bool {
	return t.HasGrants(e.App, e.Session) || t.messagesTo(e.App, e.Session).saved > 0 || t.FreezeOf(e.App, e.Session) != nil
}

// directivePart adds its part to the directive for an event.
type directivePart func(*control.Directive, *store.Event, *store.DirectiveRequest)

func newDirective(e *store.Event, r *store.DirectiveRequest, parts ...directivePart) *control.Directive {
	d := &control.Directive{}
	for _, add := range parts {
		add(d, e, r)
	}
	if d.Freeze == nil && d.Grant == nil && d.Asked == 0 && len(d.Messages) == 0 {
		return nil
	}
	return d
}

// directive returns the directive for the hook of a new event, and marks it as handed over in
// this transaction. It returns nil if there is nothing.
func (w *Work) directive(e *store.Event, r *store.DirectiveRequest) *control.Directive {
	d := newDirective(e, r, w.addFreeze, w.useGrant, w.handOver)
	if d != nil && d.Freeze != nil {
		w.do(`INSERT INTO frozen_calls (seq) VALUES ($1)`, e.ID)
	}
	return d
}

// repeatedDirective returns the directive that the event seq got, for a repeat of its POST.
// A freeze is the current one.
func (w *Work) repeatedDirective(seq int64, d *store.EventDraft) *control.Directive {
	if d.Directive == nil {
		return nil
	}
	e := d.Event
	e.ID = schema.EventID(seq)
	return newDirective(&e, d.Directive, w.addFreeze, w.repeatGrant, w.repeatMessages)
}

// Load reads the grants, messages and freezes that wait for agents into memory.
func (t *Tables) Load(query Query, now time.Time) error {
	var grants []openGrant
	err := query(appendTo(&grants, func(g *openGrant) []any { return []any{&g.Question, &g.Session.App, &g.Session.Session, &g.ExpiresAt} }), `SELECT question, app, session, expires_at FROM grants WHERE granted_at > 0 AND (used_at = 0 OR expires_at > $1)`, Millis(now))
	if err != nil {
		return err
	}
	counts := map[store.SessionKey]messageCount{}
	err = query(func(rows Rows) error {
		var key store.SessionKey
		var state control.MessageState
		err := rows.Scan(&key.App, &key.Session, &state)
		counts[key] = counts[key].add(state, 1)
		return err
	}, `SELECT app, session, state FROM messages WHERE state IN ('saved', 'handed_over')`)
	if err != nil {
		return err
	}
	var active []control.Freeze
	if err := query(appendTo(&active, freezes.fields), freezes.selects+`WHERE lifted_at = 0 ORDER BY id`); err != nil {
		return err
	}
	t.grants.set(grants)
	t.messages.Store(&counts)
	t.freezes.set(active)
	return nil
}

// openGrant is a grant that has not expired, whether used or not: the repeat of an event gets the grant that the
// event used.
type openGrant struct {
	Question  schema.EventID // the appeal
	Session   store.SessionKey
	ExpiresAt int64
}

func (t *Tables) HasGrants(app, session string) bool {
	return slices.ContainsFunc(t.grants.all(), func(g openGrant) bool { return g.Session == store.SessionKey{App: app, Session: session} })
}

func (t *Tables) ExpireGrants(ctx context.Context, now time.Time) (next time.Time, err error) {
	var due []schema.EventID
	for _, g := range t.grants.all() {
		if at := Time(g.ExpiresAt); !at.After(now) {
			due = append(due, g.Question)
		} else if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if len(due) == 0 {
		return next, nil
	}
	return next, t.change(ctx, Essential, func(w *Work) {
		for _, question := range due {
			w.closeGrant(question, "grant.expired", 0)
			w.afterCommit(func() { t.grants.remove(func(g openGrant) bool { return g.Question == question }) })
		}
	})
}

// insertAppeal stores the call of an appeal, which a person may grant.
func (w *Work) insertAppeal(e *store.Event, digest []byte) {
	if digest != nil {
		w.do(`INSERT INTO grants (question, app, session, digest, granted_by, granted_at, expires_at, used_at, used_by)
			VALUES ($1, $2, $3, $4, '', 0, 0, 0, 0)`, e.ID, e.App, e.Session, digest)
	}
}

// endAppeal grants the call of an appeal, or removes it if the appeal ended without an approval.
func (w *Work) endAppeal(e *store.Event, g *store.GrantChange) {
	if g == nil {
		return
	}
	if len(g.By) == 0 {
		w.do(`DELETE FROM grants WHERE question = $1 AND granted_at = 0`, e.ID)
		return
	}
	if w.count(`UPDATE grants SET granted_by = $1, granted_at = $2, expires_at = $3 WHERE question = $4 AND granted_at = 0`,
		JSON(g.By), Millis(g.GrantedAt), Millis(g.ExpiresAt), e.ID) == 0 {
		return
	}
	open := openGrant{Question: e.ID, Session: store.SessionKey{App: e.App, Session: e.Session}, ExpiresAt: Millis(g.ExpiresAt)}
	w.afterCommit(func() { w.t.grants.add(open) })
	w.record(store.LedgerRecord{
		Action: "grant.made", Actor: strings.Join(g.By, ", "), QuestionID: e.ID, Data: grantData{ExpiresAt: schema.Millis(Millis(g.ExpiresAt))},
	})
}

// useGrant adds the grant of the event's call, which works once.
func (w *Work) useGrant(d *control.Directive, e *store.Event, r *store.DirectiveRequest) {
	if !r.Grant || r.StoredDigest == nil || d.Freeze != nil || !r.Later && !w.t.HasGrants(e.App, e.Session) {
		return
	}
	var g store.Grant
	found := w.find([]any{&g.Question, JSON(&g.By), ScanTime(&g.GrantedAt), ScanTime(&g.ExpiresAt)},
		`SELECT question, granted_by, granted_at, expires_at FROM grants WHERE app = $1 AND session = $2 AND digest = $3
			AND granted_at > 0 AND used_at = 0 AND expires_at > $4 ORDER BY question LIMIT 1`,
		e.App, e.Session, r.StoredDigest, Millis(w.Now))
	switch {
	case !found && r.Later:
		w.find([]any{&d.Asked}, `SELECT question FROM grants WHERE app = $1 AND session = $2 AND digest = $3 AND granted_at = 0
			ORDER BY question LIMIT 1`, e.App, e.Session, r.StoredDigest)
	case !found:
	case r.IsValid != nil && !r.IsValid(&g):
		w.closeGrant(g.Question, "grant.revoked", 0)
	default:
		w.closeGrant(g.Question, "grant.used", e.ID)
		w.addGrant(d, g.Question, g.By, r)
	}
}

// addGrant adds a grant and the signed approval of the appeal.
func (w *Work) addGrant(d *control.Directive, question schema.EventID, by []string, r *store.DirectiveRequest) {
	d.Grant = &control.Grant{Question: question, Digest: r.Digest, By: strings.Join(by, ", ")}
	var receipt []byte
	w.find([]any{&receipt}, `SELECT receipt FROM questions WHERE seq = $1`, question)
	if receipt != nil {
		w.fail(json.Unmarshal(receipt, &d.Grant.Approval))
	}
}

// closeGrant ends a grant that is not used yet: by an event, or by usedBy 0 if it became invalid.
func (w *Work) closeGrant(question schema.EventID, action string, usedBy schema.EventID) {
	if w.count(`UPDATE grants SET used_at = $1, used_by = $2 WHERE question = $3 AND used_at = 0`, Millis(w.Now), usedBy, question) > 0 {
		w.record(store.LedgerRecord{Action: action, Actor: ByHub, QuestionID: question, Data: grantData{Event: usedBy}})
	}
}

// endRepeats lets no repeat get the grant of a call that has ended: some models use the same ids again, so their next call
// would be a repeat of its event.
func (w *Work) endRepeats(end *store.Event) {
	w.do(`UPDATE grants SET expires_at = $1 WHERE app = $2 AND session = $3 AND used_by > 0 AND expires_at > $1`,
		Millis(w.Now), end.App, end.Session)
}

// maxRepeatAge is how long after its use a repeat of the event gets the grant. Another hook of the event comes at once, and
// a hook that tries again has given up by then.
const maxRepeatAge = time.Minute

// repeatGrant adds the grant that the event used.
func (w *Work) repeatGrant(d *control.Directive, e *store.Event, r *store.DirectiveRequest) {
	if !r.Grant || r.StoredDigest == nil || d.Freeze != nil {
		return
	}
	var question schema.EventID
	var by []string
	var isSame bool
	if w.find([]any{&question, JSON(&by), &isSame},
		`SELECT question, granted_by, digest = $1 FROM grants WHERE used_by = $2 AND used_by > 0 AND used_at > $3 AND expires_at > $4`,
		r.StoredDigest, e.ID, Millis(w.Now.Add(-maxRepeatAge)), Millis(w.Now)) {
		w.require(isSame, schema.ErrKeyConflict)
		w.addGrant(d, question, by, r)
	}
}

var freezes = newTable("freezes", "id", "id, scope, app, session, frozen_by, reason, rule, cost_usd, frozen_at, lifted_by, lifted_at",
	func(f *control.Freeze) []any {
		return []any{
			&f.ID, &f.Scope, &f.SourceApp, &f.SessionID, &f.By, &f.Reason, &f.Rule, &f.CostUSD, &f.CreatedAt, &f.LiftedBy, &f.LiftedAt,
		}
	})

func (t *Tables) ActiveFreezes() []control.Freeze { return t.freezes.all() }

func (t *Tables) FreezeOf(app, session string) *control.Freeze {
	active := t.freezes.all()
	i := slices.IndexFunc(active, func(freeze control.Freeze) bool { return freeze.Stops(app, session) })
	if i < 0 {
		return nil
	}
	return &active[i]
}

func (t *Tables) CreateFreeze(ctx context.Context, f control.Freeze) (stored control.Freeze, created bool, err error) {
	err = t.change(ctx, Essential|Policy, func(w *Work) {
		var found bool
		created, w.changesFreezes = false, true
		stored, found = freezes.getIn(w, `WHERE lifted_at = 0 AND scope = $1 AND app = $2 AND session = $3`, f.Scope, f.SourceApp, f.SessionID)
		if found {
			return
		}
		w.require(get[int64](w, `SELECT count(*) FROM freezes WHERE lifted_at = 0`) < store.MaxFreezes, schema.ErrTooMany)
		stored, created = f, true
		stored.LiftedBy, stored.LiftedAt = "", 0
		stored.ID = nextID(w, "freezes")
		freezes.insert(w, &stored)
		w.afterCommit(func() { t.freezes.add(stored) })
		w.record(store.LedgerRecord{Action: "freeze.made", Actor: f.By, Data: freezeData{
			ID: stored.ID, Scope: f.Scope, App: f.SourceApp, Session: f.SessionID, Reason: f.Reason, Rule: f.Rule,
		}})
	})
	return stored, created, err
}

func (t *Tables) LiftFreeze(ctx context.Context, id int64, by string, at time.Time) (control.Freeze, error) {
	return write(ctx, t, Essential|Policy, func(w *Work) control.Freeze {
		w.changesFreezes = true
		if w.count(`UPDATE freezes SET lifted_by = $1, lifted_at = $2 WHERE id = $3 AND lifted_at = 0`, by, Millis(at), id) > 0 {
			w.afterCommit(func() { t.freezes.remove(func(f control.Freeze) bool { return f.ID == id }) })
			w.record(store.LedgerRecord{Action: "freeze.lifted", Actor: by, Data: freezeData{ID: id}})
		}
		f, found := freezes.getIn(w, `WHERE id = $1`, id)
		w.require(found, schema.ErrNotFound)
		return f
	})
}

func (t *Tables) AutomaticFreezes(ctx context.Context, f store.AutomaticFreezeFilter) ([]control.Freeze, error) {
	return freezes.list(ctx, t, `WHERE rule <> '' AND ($1 = '' OR rule = $1) AND ($2 = '' OR app = $2 AND ($3 = '' OR session = $3))
		ORDER BY id DESC LIMIT $4`, f.Rule, f.App, f.Session, f.Limit)
}

// freezeOf returns a freeze that stops the session. It sees the freezes of this transaction, too.
func (w *Work) freezeOf(app, session string) *control.Freeze {
	if !w.changesFreezes {
		return w.t.FreezeOf(app, session)
	}
	f, found := freezes.getIn(w, `WHERE lifted_at = 0 AND (scope = 'all' OR app = $1 AND (scope = 'app' OR session = $2))
		ORDER BY id LIMIT 1`, app, session)
	if !found {
		return nil
	}
	return &f
}

// addFreeze adds the active freeze that stops the event's agent.
func (w *Work) addFreeze(d *control.Directive, e *store.Event, r *store.DirectiveRequest) {
	if !r.Freeze {
		return
	}
	if f := w.freezeOf(e.App, e.Session); f != nil {
		d.Freeze = f.Notice()
	}
}

var messages = newTable("messages", "id", "id, state, app, session, agent_id, sender, text, sent_at, handed_at, handed_by",
	func(m *control.Message) []any {
		return []any{&m.ID, &m.State, &m.SourceApp, &m.SessionID, &m.AgentID, &m.From, &m.Text, &m.CreatedAt, &m.HandedAt, &m.Event}
	})

func sessionOf(m *control.Message) store.SessionKey {
	return store.SessionKey{App: m.SourceApp, Session: m.SessionID}
}

func (t *Tables) CreateMessage(ctx context.Context, d store.MessageDraft) (m control.Message, isNew bool, err error) {
	err = t.change(ctx, Essential|Policy, func(w *Work) { m, isNew = w.createMessage(&d) })
	return m, isNew, err
}

func (t *Tables) WithdrawMessage(ctx context.Context, id int64, by string) (control.Message, error) {
	return write(ctx, t, Essential|Policy, func(w *Work) control.Message {
		m, found := messages.getIn(w, `WHERE id = $1`, id)
		w.require(found, schema.ErrNotFound)
		w.require(m.State == control.MessageSaved, schema.ErrHandedOver)
		w.setMessageState(&m, control.MessageWithdrawn, by)
		return m
	})
}

func (t *Tables) Messages(ctx context.Context, key store.SessionKey, n int) ([]control.Message, error) {
	newest, err := messages.list(ctx, t, `WHERE session = $1 AND app = $2 ORDER BY id DESC LIMIT $3`, key.Session, key.App, n)
	slices.Reverse(newest)
	return newest, err
}

func (t *Tables) EndMessages(ctx context.Context, key store.SessionKey) error {
	return t.change(ctx, Essential, func(w *Work) { w.endMessages(key) })
}

func (t *Tables) HasMessages(key store.SessionKey) bool {
	return t.messagesTo(key.App, key.Session) != messageCount{}
}

func (t *Tables) OpenMessages() map[store.SessionKey]int64 {
	open := map[store.SessionKey]int64{}
	for key, n := range *t.messages.Load() {
		open[key] = n.saved + n.handedOver
	}
	return open
}

func (t *Tables) HasWaitingMessages(key store.SessionKey) bool {
	return t.messagesTo(key.App, key.Session).saved > 0
}

// PruneMessages removes up to limit messages from before a time that wait no more, and returns their number. It
// leaves the newest message, so that no id is used twice.
func (w *Work) PruneMessages(before int64, limit int) (n int, err error) {
	list := messages.listIn(w, `WHERE id < (SELECT max(id) FROM messages) AND sent_at < $1 AND state <> 'saved'
		ORDER BY id LIMIT $2`, before, limit)
	for i := range list {
		m := &list[i]
		w.do(`DELETE FROM messages WHERE id = $1`, m.ID)
		if m.State == control.MessageHandedOver {
			w.afterCommit(func() { w.t.countMessage(sessionOf(m), m.State, "") })
		}
	}
	return len(list), w.err
}

// savedMessages returns the messages that wait for agents of a session.
func (w *Work) savedMessages(app, session string) []control.Message {
	return messages.listIn(w, `WHERE session = $1 AND app = $2 AND state = 'saved' ORDER BY id`, session, app)
}

// setMessageState changes the state of a message, and keeps the counts of its session.
func (w *Work) setMessageState(m *control.Message, state control.MessageState, actor string) {
	before := m.State
	m.State = state
	w.do(`UPDATE messages SET state = $1, handed_at = $2, handed_by = $3 WHERE id = $4`, m.State, int64(m.HandedAt), m.Event, m.ID)
	key := sessionOf(m)
	w.afterCommit(func() { w.t.countMessage(key, before, state) })
	if state != control.MessageActedOn {
		w.record(store.LedgerRecord{Action: "message." + string(state), Actor: actor, Data: messageData{ID: m.ID, Event: m.Event}})
	}
}

func (w *Work) createMessage(d *store.MessageDraft) (m control.Message, isNew bool) {
	var key []byte
	if d.Key != "" {
		key = hashKey(d.From + "\x00" + d.Key)
		if m, found := messages.getIn(w, `WHERE key = $1`, key); found {
			stored := control.MessageDraft{SourceApp: m.SourceApp, SessionID: m.SessionID, AgentID: m.AgentID, Text: m.Text}
			w.require(stored == d.MessageDraft, schema.ErrKeyConflict)
			return m, false
		}
	}
	w.require(len(w.savedMessages(d.SourceApp, d.SessionID)) < control.MaxWaitingMessages, store.ErrManyWaiting)
	m = control.Message{
		ID: nextID(w, "messages"), State: control.MessageSaved, SourceApp: d.SourceApp, SessionID: d.SessionID, AgentID: d.AgentID,
		From: d.From, Text: d.Text, CreatedAt: schema.Millis(Millis(d.SentAt)),
	}
	w.do(`INSERT INTO messages (id, app, session, agent_id, sender, text, state, sent_at, handed_at, handed_by, key)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, $9)`,
		m.ID, m.SourceApp, m.SessionID, m.AgentID, m.From, m.Text, m.State, int64(m.CreatedAt), Nullable(key))
	w.afterCommit(func() { w.t.countMessage(sessionOf(&m), "", m.State) })
	w.record(store.LedgerRecord{Action: "message.saved", Actor: m.From, Data: messageData{ID: m.ID, App: m.SourceApp, Session: m.SessionID}})
	return m, true
}

// endMessages ends the saved messages to a session that has ended.
func (w *Work) endMessages(key store.SessionKey) {
	saved := w.savedMessages(key.App, key.Session)
	for i := range saved {
		w.setMessageState(&saved[i], control.MessageExpired, ByHub)
	}
}

// AdvanceMessages applies the effect of an event on the messages to its session.
func (w *Work) AdvanceMessages(e *store.Event, step *store.MessageStep) error {
	key := store.SessionKey{App: e.App, Session: e.Session}
	if step == nil || !w.t.HasMessages(key) {
		return w.err
	}
	if step.ActedOn {
		handedOver := messages.listIn(w, `WHERE session = $1 AND app = $2 AND agent_id = $3 AND state = 'handed_over' AND handed_by < $4
			ORDER BY id`, key.Session, key.App, step.AgentID, e.ID)
		for i := range handedOver {
			w.setMessageState(&handedOver[i], control.MessageActedOn, "")
		}
	}
	if step.Ended {
		w.endMessages(key)
	}
	return w.err
}

// handOver adds the messages that wait for the event's agent, oldest first. A message
// whose sender may no longer send it is withdrawn.
func (w *Work) handOver(d *control.Directive, e *store.Event, r *store.DirectiveRequest) {
	if !r.Message || w.t.messagesTo(e.App, e.Session).saved == 0 {
		return
	}
	saved := w.savedMessages(e.App, e.Session)
	units := 0
	for i := range saved {
		m := &saved[i]
		if m.AgentID != r.AgentID {
			continue
		}
		if r.CanSend != nil && !r.CanSend(m.From, m.CreatedAt) {
			w.setMessageState(m, control.MessageWithdrawn, ByHub)
			continue
		}
		text := control.MessageText{ID: m.ID, From: m.From, Text: m.Text}
		if units += text.PromptUnits(); len(d.Messages) > 0 && units > control.MaxPromptUnits || len(d.Messages) == control.MaxHandedOver {
			return
		}
		m.HandedAt, m.Event = schema.Millis(Millis(w.Now)), e.ID
		w.setMessageState(m, control.MessageHandedOver, ByHub)
		d.Messages = append(d.Messages, text)
	}
}

// repeatMessages adds the messages that were handed over with the event.
func (w *Work) repeatMessages(d *control.Directive, e *store.Event, r *store.DirectiveRequest) {
	if !r.Message {
		return
	}
	for _, m := range messages.listIn(w, `WHERE handed_by = $1 AND handed_by > 0 ORDER BY id`, e.ID) {
		if m.AgentID == r.AgentID {
			d.Messages = append(d.Messages, control.MessageText{ID: m.ID, From: m.From, Text: m.Text})
		}
	}
}

// messageCount counts the messages to a session that are not acted on.
type messageCount struct{ saved, handedOver int64 }

func (c messageCount) add(state control.MessageState, n int64) messageCount {
	switch state {
	case control.MessageSaved:
		c.saved += n
	case control.MessageHandedOver:
		c.handedOver += n
	}
	return c
}

// messagesTo reads no row, since every event of a session asks.
func (t *Tables) messagesTo(app, session string) messageCount {
	return (*t.messages.Load())[store.SessionKey{App: app, Session: session}]
}

// countMessage counts a message in the state to, and no more in the state from.
func (t *Tables) countMessage(key store.SessionKey, from, to control.MessageState) {
	counts := maps.Clone(*t.messages.Load())
	counts[key] = counts[key].add(from, -1).add(to, 1)
	if counts[key] == (messageCount{}) {
		delete(counts, key)
	}
	t.messages.Store(&counts)
}

// snapshot is a list in memory, as of the last commit. Only the writer's goroutine changes it.
type snapshot[T any] struct{ list atomic.Pointer[[]T] }

func (s *snapshot[T]) all() []T {
	if list := s.list.Load(); list != nil {
		return *list
	}
	return nil
}

func (s *snapshot[T]) set(list []T) { s.list.Store(&list) }

func (s *snapshot[T]) add(v T) { s.set(append(slices.Clone(s.all()), v)) }

func (s *snapshot[T]) remove(isRemoved func(T) bool) {
	s.set(slices.DeleteFunc(slices.Clone(s.all()), isRemoved))
}
