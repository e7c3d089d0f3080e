package hub

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/hub/arrival"
	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// addQuestion validates the question of an event and adds it to the draft.
func (h *Hub) addQuestion(ctx context.Context, a *arrival.Arrival, p *question.Post, caller Caller) error {
	h.limitAppeal(ctx, a)
	p.Requester, p.WaitsForAnswer, p.Retries, p.IsProbe = caller.Identity.Requester(), caller.WaitsForAnswer, caller.Retries, caller.IsProbe
	p.Follows = h.followedQuestion(ctx, &a.Event, p)
	if p.Ask.ResponseWebSocketURL != "" {
		p.Blocked = h.checkURL(p.Ask.ResponseWebSocketURL)
	}
	if question.IsRestricted(p.Ask) || question.WantsOwners(p.Ask) || h.Defaults != nil && h.Defaults.HasAny() {
		p.Approvers = accounts{h.People}.approvers()
	}
	if h.Reach != nil {
		p.IsAway = func(name string) bool { return h.Reach.IsAway(ctx, name) }
	}
	if err := question.New(&a.EventDraft, p, &h.env); err != nil {
		return err
	}
	a.NewQuestion.Supersede = h.supersede
	program := h.callerProcess(caller)
	if program != nil {
		// A hook is a child process of the agent and exits when it stops waiting. The
		// requester is the agent.
		if !caller.WaitsForAnswer && p.Call.Facts.Agent != "" {
			if agent, ok := caller.Connection.ParentCommand(program); ok {
				program = agent
			}
		}
		a.NewQuestion.RequesterProcess, _ = json.Marshal(program)
	}
	return h.reservePending(ctx, &a.EventDraft, caller, program)
}

// supersede ends an older question of a shared listener. It runs on the store's writer.
func (h *Hub) supersede(older *store.Question, by schema.EventID) (*store.Change, error) {
	s, err := h.decodeSnapshot(older)
	if err != nil {
		return nil, err
	}
	return s.Supersede(by, h.Clock())
}

// An appeal blocks its agent's turn, so it waits only if someone can see it, and not again and
// again in a session in which no one answers.

// viewedAppealTimeout is how long an appeal waits that only open pages show.
const viewedAppealTimeout = 2 * time.Minute

// limitAppeal shortens the timeout of an appeal that no notification announces.
func (h *Hub) limitAppeal(ctx context.Context, a *arrival.Arrival) {
	if a.Ask.Appeal == nil || a.Ask.Appeal.Later {
		return
	}
	limit := viewedAppealTimeout.Seconds()
	if _, reachable := h.appealAudience(ctx, store.SessionKey{App: a.App, Session: a.Session}); reachable == 0 &&
		(a.Ask.TimeoutDuration() == 0 || a.Ask.TimeoutDuration() > viewedAppealTimeout) {
		a.Ask.Timeout = &limit
	}
}

// appealAudience returns the open pages and the notifications that can show an appeal of the
// session now; none if no one answered the last ones.
func (h *Hub) appealAudience(ctx context.Context, key store.SessionKey) (watching, reachable int) {
	h.mu.Lock()
	ignored := h.unanswered.AreIgnored(key)
	h.mu.Unlock()
	if ignored {
		return 0, 0
	}
	if h.Reach != nil {
		reachable = h.Reach.Reachable(ctx)
	}
	return h.Viewers.Count(), reachable
}

// Opened records that a person has a question open.
func (h *Hub) Opened(id schema.EventID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unanswered.Opened(id)
}

// A person can answer a permission with a question (askBack). If the session then asks for the
// same call again, the new question follows the first one, so that its reader sees what was
// asked. Only the newest askBack of a call counts.

// sessionCall identifies a call of a session.
type sessionCall struct{ app, session, call string }

// maxAskBacks limits Hub.askBacks. Beyond it, an arbitrary entry is dropped.
const maxAskBacks = 1000

// followedQuestion returns the question that a new one follows, or 0.
func (h *Hub) followedQuestion(ctx context.Context, e *store.Event, p *question.Post) schema.EventID {
	if !p.Call.Exists() || p.Ask.Type != schema.Permission {
		return 0
	}
	call := sessionCall{e.App, e.Session, string(p.Call.Hash())}
	h.mu.Lock()
	id := h.askBacks[call]
	h.mu.Unlock()
	if id == 0 {
		return 0
	}
	first, err := h.readSnapshot(ctx, id)
	if err != nil || !h.isRecentAskBack(&first.Status) { // such as an undone answer
		return 0
	}
	return id
}

// isRecentAskBack reports whether a question was answered with askBack a short time ago.
func (h *Hub) isRecentAskBack(st *schema.Status) bool {
	since := h.Clock().Add(-schema.AskBackWindow).UnixMilli()
	return st.Response != nil && st.Response.AskBack != "" && int64(st.RespondedAt) >= since
}

// askBackPage is the number of questions that are read at startup to find the ones in the window.
const askBackPage = 250

// loadAskBacks finds the questions that were answered before the hub restarted.
func (h *Hub) loadAskBacks(ctx context.Context) {
	newest, err := h.Store.Questions(ctx, math.MaxInt64, askBackPage)
	if err != nil {
		h.Log.Error("newest questions not read; a repeated request may not show the question of a person", "err", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(newest) - 1; i >= 0; i-- { // oldest first: the newest one counts
		var st schema.Status
		if json.Unmarshal(newest[i].Status, &st) == nil && h.isRecentAskBack(&st) {
			h.rememberAskBackLocked(newest[i])
		}
	}
}

// rememberAskBackLocked remembers a resolved question if it was answered with askBack, at any hub. The caller holds mu.
func (h *Hub) rememberAskBackLocked(e *store.Event) {
	var q schema.HumanInTheLoop
	if !bytes.Contains(e.Status, []byte(`"askBack":`)) || q.UnmarshalJSON(e.Question) != nil || q.Type != schema.Permission {
		return
	}
	c := question.CallOf(e, &q)
	if !c.Exists() {
		return
	}
	for other := range h.askBacks {
		if len(h.askBacks) < maxAskBacks {
			break
		}
		delete(h.askBacks, other)
	}
	h.askBacks[sessionCall{e.App, e.Session, string(c.Hash())}] = e.ID
}

// PendingLimits bound the pending questions, so that one program can't bury the questions of the
// others. Zero values select the defaults.
type PendingLimits struct {
	Session int // of one session, default 256
	Owner   int // of one token or program, default 1,000
	Hub     int // of the hub, default 10,000
}

func (l *PendingLimits) setDefaults() {
	l.Session, l.Owner, l.Hub = cmp.Or(l.Session, 256), cmp.Or(l.Owner, 1000), cmp.Or(l.Hub, 10_000)
}

// tally counts questions under a key. Hub.mu guards it.
type tally[K comparable] struct {
	keys   map[string]K // by the uid of the event
	counts map[K]int
}

func (t *tally[K]) add(uid string, key K) {
	if t.keys == nil {
		t.keys, t.counts = map[string]K{}, map[K]int{}
	}
	if !t.has(uid) {
		t.keys[uid] = key
		t.counts[key]++
	}
}

func (t *tally[K]) has(uid string) bool {
	_, ok := t.keys[uid]
	return ok
}

// remove ends the count of a question, if it is counted.
func (t *tally[K]) remove(uid string) {
	key, ok := t.keys[uid]
	if !ok {
		return
	}
	delete(t.keys, uid)
	if t.counts[key]--; t.counts[key] == 0 {
		delete(t.counts, key)
	}
}

// reservePending counts the question of d for its session, its owner and the hub, or returns an error if
// one of them has too many. The count ends when the question is settled, or with releasePending.
func (h *Hub) reservePending(ctx context.Context, d *store.EventDraft, caller Caller, program *peer.Process) error {
	owner := pendingOwner(caller, program)
	who, n := h.tryReservePending(d, owner)
	if who == "" {
		return nil
	}
	if d.IdempotencyKey != "" {
		if known, err := h.Store.HasKey(ctx, d.IdempotencyKey); err != nil || known { // a repeat adds no question
			return err
		}
	}
	return &schema.HintError{
		Err:  &schema.FieldError{Field: "humanInTheLoop", Detail: fmt.Sprintf("was not stored: %s %d questions waiting", who, n), Cause: schema.ErrTooMany},
		Hint: "Answer, cancel or withdraw some of them, and ask again.",
	}
}

// tryReservePending returns whose limit is reached, and the limit; or "" after it has counted the
// question.
func (h *Hub) tryReservePending(d *store.EventDraft, owner string) (who string, limit int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := store.SessionKey{App: d.App, Session: d.Session}
	switch l := h.PendingLimits; {
	case h.pending.counts[key] >= l.Session:
		return "this session already has", l.Session
	case h.byOwner.counts[owner] >= l.Owner:
		return "this agent already has", l.Owner
	case len(h.pending.keys) >= l.Hub:
		return "this hub already has", l.Hub
	}
	h.byOwner.add(d.UID, owner)
	h.pending.add(d.UID, key)
	h.unstored[d.UID] = true
	return "", 0
}

// releasePending stops counting a draft that was not stored.
func (h *Hub) releasePending(d *store.EventDraft) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unstored[d.UID] { // not if its poster only stopped waiting
		delete(h.unstored, d.UID)
		h.pending.remove(d.UID)
		h.byOwner.remove(d.UID)
	}
}

// pendingOwner returns who a question counts for: the token or person, the program, or the address.
func pendingOwner(caller Caller, program *peer.Process) string {
	switch who := caller.Identity.Requester(); {
	case who != "":
		return "token " + who
	case program != nil && len(program.Chain) > 0:
		return fmt.Sprintf("process %d %d", program.Chain[0].PID, program.Chain[0].Start)
	default:
		return "address " + caller.Remote.Addr().String()
	}
}
