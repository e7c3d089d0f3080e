package hub

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/store"
)

var (
	ada   = auth.Identity{Name: "ada", Role: schema.Admin, Owner: true, Via: "session", ID: "s_1"}
	guest = auth.Identity{Name: "guest", Role: schema.Viewer, Via: "session", ID: "s_2"}
	bot   = auth.Identity{Name: "build", Agent: true, Apps: []string{"a*"}, Via: "token", ID: "t_1"}
)

// withPeople gives the hub an account service whose owner is ada.
func withPeople(t *testing.T) func(*Config) {
	return func(c *Config) {
		p, err := auth.Open(t.Context(), auth.Config{Store: c.Store.(store.Store), Clock: c.Clock})
		require.NoError(t, err)
		code, err := p.OwnerCode(t.Context())
		require.NoError(t, err)
		_, err = p.SignIn(t.Context(), auth.SignInAttempt{Code: code, Name: "ada"})
		require.NoError(t, err)
		require.NoError(t, p.Lock(t.Context(), false, ada)) // the first sign-in of an owner locks the hub
		c.People = p
	}
}

// TestOperations_RequireOperator tries every operation that needs an operator.
func TestOperations_RequireOperator(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPeople(t))
	id, secret := h.ask(`{"question":"q","type":"permission"}`)
	ctx, yes := t.Context(), true
	for _, who := range []auth.Identity{guest, bot} {
		by := Caller{Identity: who}
		for name, verb := range map[string]func() ([]byte, error){
			"respond":   func() ([]byte, error) { return h.Respond(ctx, id, &schema.Response{Permission: &yes}, by) },
			"cancel":    func() ([]byte, error) { return h.Cancel(ctx, id, schema.Cancel{}, by) },
			"undo":      func() ([]byte, error) { return h.Undo(ctx, id, by) },
			"redeliver": func() ([]byte, error) { return h.Redeliver(ctx, id, by) },
			"extend":    func() ([]byte, error) { return h.Extend(ctx, id, &schema.Extend{Seconds: 60}, by) },
			"handled":   func() ([]byte, error) { return h.MarkHandled(ctx, id, by) },
			"approve": func() ([]byte, error) {
				return h.ApproveAll(ctx, &schema.Approvals{Requests: []schema.SeenRevision{{ID: id, Revision: 1}}}, by)
			},
		} {
			_, err := verb()
			require.ErrorIs(t, err, schema.ErrNotAllowed, "%s by %s", name, who.Name)
		}
	}
	_, err := h.Cancel(ctx, id, schema.Cancel{RequestSecret: secret}, Caller{Identity: bot})
	require.NoError(t, err, "an agent can withdraw its own question")
	require.Equal(t, schema.Withdrawn, h.status(id).Outcome)
}

func TestAgentToken_PostsForItsAppsOnly(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPeople(t))
	_, err := h.Ingest(t.Context(), []byte(`{"source_app":"bank","session_id":"s","hook_event_type":"Stop","payload":{}}`), Caller{Identity: bot})
	require.ErrorIs(t, err, schema.ErrNotAllowed)
	_, err = h.Ingest(t.Context(), []byte(`{"source_app":"api","session_id":"s","hook_event_type":"Stop","payload":{}}`), Caller{Identity: bot})
	require.NoError(t, err)
	result, _, err := h.IngestBatch(t.Context(), []byte(`[{"source_app":"bank","session_id":"s","hook_event_type":"Stop","payload":{}}]`), Caller{Identity: bot})
	require.NoError(t, err)
	require.Contains(t, string(result), `"code":"not_allowed"`)
}

func TestRespond_RejectsTokenRequester(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPeople(t))
	own := ada
	own.Via, own.ID = "token", "t_2"
	ask := func(by auth.Identity, more string) schema.EventID {
		saved, err := h.Ingest(t.Context(), []byte(eventWith(`"humanInTheLoop":{"question":"q","type":"permission"`+more+`}`)), Caller{Identity: by})
		require.NoError(t, err)
		return saved.ID
	}
	yes := true
	answer := func(id schema.EventID) error {
		_, err := h.Respond(t.Context(), id, &schema.Response{Permission: &yes}, Caller{Identity: ada})
		return err
	}
	require.ErrorIs(t, answer(ask(own, "")), schema.ErrSelfApproval)
	require.NoError(t, answer(ask(own, `,"excludeRequester":false`)))
	require.NoError(t, answer(ask(auth.Identity{}, "")))
	same := bot
	same.Name, same.Apps = "ada", nil
	require.NoError(t, answer(ask(same, "")), "an agent token with the same name is not ada")
}

// TestSelfApproval_IsMarkedOrRefused: the same process asks and answers.
func TestSelfApproval_IsMarkedOrRefused(t *testing.T) {
	t.Parallel()
	self := &peer.Process{Program: peer.Program{PID: 4711, Exe: "/usr/bin/agent"}, Boot: "b", Chain: []peer.ProcessRef{{PID: 4711, Start: 1}}}
	lookup := func(c *Config) {
		c.Processes = processesFunc(func(_, _ netip.AddrPort) (*peer.Process, bool) { return self, true })
	}
	h := newTestHub(t, withPeople(t), lookup)
	from := Caller{Remote: netip.MustParseAddrPort("127.0.0.1:4711")}
	yes := true
	ask := func(by Caller) schema.EventID {
		saved, err := h.Ingest(t.Context(), []byte(eventWith(`"humanInTheLoop":{"question":"q","type":"permission"}`)), by)
		require.NoError(t, err)
		return saved.ID
	}
	answer := func(id schema.EventID, by Caller) error {
		_, err := h.Respond(t.Context(), id, &schema.Response{Permission: &yes}, by)
		return err
	}
	id := ask(from)
	require.NoError(t, answer(id, from), "an open hub only marks it")
	require.True(t, h.status(id).RespondedBy.SelfApproval)
	no, denied := false, ask(from)
	_, err := h.Respond(t.Context(), denied, &schema.Response{Permission: &no}, from)
	require.NoError(t, err)
	require.False(t, h.status(denied).RespondedBy.SelfApproval, "a denial grants nothing")
	entries := h.ledger()
	require.Contains(t, string(entries[len(entries)-1].Data), "/usr/bin/agent")
	token := from
	token.Identity = bot
	err = answer(ask(token), from)
	require.ErrorIs(t, err, schema.ErrSelfApproval, "the process of a token cannot answer without credentials")
	require.Contains(t, schema.ProblemOf(err).Hint, "/docs/votes#your-own-page")
	require.NoError(t, h.People.Lock(t.Context(), true, ada))
	known := from
	known.Identity = ada
	require.ErrorIs(t, answer(ask(from), known), schema.ErrSelfApproval, "nor with a person's session on a locked hub")
	require.NoError(t, answer(ask(Caller{}), known))
}

// TestAnswer_HasNoProcessOfResponder: the program that a person answered with is for the audit log. Agents, also version
// 1 listeners and repeated requests, get the name only.
func TestAnswer_HasNoProcessOfResponder(t *testing.T) {
	t.Parallel()
	browser := &peer.Process{Program: peer.Program{PID: 4711, Exe: "/home/ada/firefox", Ancestors: []string{"/usr/bin/shell (47)"}}}
	clock := newFakeClock()
	h := newTestHub(t, clock.configure, func(c *Config) {
		c.Processes = processesFunc(func(_, _ netip.AddrPort) (*peer.Process, bool) { return browser, true })
	})
	from := Caller{Remote: netip.MustParseAddrPort("127.0.0.1:4712")}
	for kind, answer := range map[string]*schema.Response{"immediate": approval(), "undoable": withHold(approval(), 10*time.Second)} {
		body := strings.Replace(sharedQuestion("a", "s", `"`+kind+`"`, ""), `"source_app"`, `"idempotency_key":"`+kind+`","source_app"`, 1)
		saved, err := h.Ingest(t.Context(), []byte(body), from)
		require.NoError(t, err)
		_, err = h.Respond(t.Context(), saved.ID, answer, from)
		require.NoError(t, err)
		held, err := h.query.Event(t.Context(), saved.ID)
		require.NoError(t, err)
		require.NotContains(t, string(held), "firefox")
		clock.advance(11 * time.Second)
		h.runDue()

		pulled, err := h.Pull(t.Context(), saved.ID, PullOptions{})
		require.NoError(t, err)
		require.Contains(t, string(pulled), `"respondedBy":{"name":`)
		repeated, err := h.Ingest(t.Context(), []byte(body), from)
		require.NoError(t, err)
		require.Equal(t, saved.ID, repeated.ID)
		for _, seen := range []string{string(pulled), string(repeated.JSON)} {
			require.NotContains(t, seen, "firefox", kind)
			require.NotContains(t, seen, "4711", kind)
		}
		entries := h.ledger()
		require.Contains(t, string(entries[len(entries)-1].Data), `"process":{"pid":4711,"exe":"/home/ada/firefox","ancestors":["/usr/bin/shell (47)"]}`, kind)
	}
}
