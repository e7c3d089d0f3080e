package hub

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/redact"
	"github.com/hookback/hookback/server/internal/store"
)

// bashRequest returns an event of application a that asks for permission to run a command.
func bashRequest(session, command string, more ...string) string {
	call, _ := json.Marshal(map[string]string{"command": command})
	return fmt.Sprintf(`{"source_app":"a","session_id":%q,"hook_event_type":"PreToolUse","payload":{"cwd":"/home/dev/shop"},"humanInTheLoop":`+
		`{"question":"May I?","type":"permission","responseWebSocketUrl":"ws://127.0.0.1:50123/secret","toolCall":{"name":"Bash","arguments":%s}%s}}`,
		session, call, strings.Join(append([]string{""}, more...), ","))
}

// makeRule posts a question and makes a rule from it. By default the rule matches commands
// that start with "npm test" in every session.
func (h *testHub) makeRule(then string, change ...func(*schema.RuleDraft)) schema.Rule {
	h.t.Helper()
	d := &schema.RuleDraft{
		From: h.post(bashRequest("s", "npm test")).ID, Then: then, Scope: schema.ScopeWhen, Reach: schema.ReachEverywhere,
		When: []schema.Condition{{Argument: "command", Is: "starts_with", Value: json.RawMessage(`"npm test"`)}},
	}
	for _, fn := range change {
		fn(d)
	}
	raw, err := h.CreateRule(h.t.Context(), d, Caller{Identity: ada})
	require.NoError(h.t, err)
	var r schema.Rule
	require.NoError(h.t, json.Unmarshal(raw, &r))
	return r
}

// postedOutcome posts a question and returns its outcome from the response, such as
// "approve by rule 1" or "pending".
func (h *testHub) postedOutcome(event string) string {
	h.t.Helper()
	st := decodeEvent(h.t, h.post(event).JSON).HumanInTheLoopStatus
	if st.Status == schema.Pending {
		return "pending"
	}
	return string(st.Outcome) + " by " + st.RespondedBy.Name
}

func sessionReach(d *schema.RuleDraft) { d.Reach = schema.ReachSession }

func TestRule_AnswersLikePerson(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.makeRule(schema.ThenDeny, func(d *schema.RuleDraft) { d.Reason = "not on Fridays" })
	saved := h.post(bashRequest("s2", "npm test"))
	st := decodeEvent(t, saved.JSON).HumanInTheLoopStatus
	require.Equal(t, *st, h.status(saved.ID))
	require.Equal(t, schema.Deny, st.Outcome)
	require.False(t, *st.Response.Permission)
	require.Equal(t, "not on Fridays", st.Reason)
	require.Contains(t, st.Response.Guidance, "A rule of ada denied this (Deny Bash when command starts with \"npm test\", for all agents, for 8 hours).")
	require.Contains(t, st.Response.Guidance, "not on Fridays")
	require.Equal(t, schema.Queued, st.Delivery.State, "a rule's answer is delivered like any other")
	h.mu.Lock()
	require.Equal(t, []schema.EventID{saved.ID}, h.dispatched())
	h.mu.Unlock()
	_, err := h.Respond(t.Context(), saved.ID, approval(), Caller{})
	require.ErrorIs(t, err, schema.ErrDecided)
	answer, err := h.Pull(t.Context(), saved.ID, PullOptions{})
	require.NoError(t, err)
	require.Contains(t, string(answer), `"rule":{"id":1,"text":"Deny Bash`)
}

func TestRule_LeavesOtherCallsPending(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(c *Config) { c.Redactor = redact.New() })
	h.makeRule(schema.ThenAllow)
	require.Equal(t, "approve by rule 1", h.postedOutcome(bashRequest("s2", "npm test src/cart")))
	for name, event := range map[string]string{
		"another command":             bashRequest("s2", "npm testevil"),
		"an option":                   bashRequest("s2", "npm test -- --bail"),
		"two commands":                bashRequest("s2", "npm test; ls"),
		"high by the agent":           bashRequest("s2", "npm test", `"risk":"high"`),
		"critical by the agent":       bashRequest("s2", "npm test", `"risk":"critical"`),
		"high by the hub":             bashRequest("s2", "npm test -- ~/.ssh/id_rsa", `"risk":"high"`),
		"a reason is required":        bashRequest("s2", "npm test", `"reasonRequired":"always"`),
		"a choice":                    strings.Replace(bashRequest("s2", "npm test"), `"type":"permission"`, `"type":"choice","choices":["a","b"]`, 1),
		"a text":                      strings.Replace(bashRequest("s2", "npm test"), `"type":"permission"`, `"type":"question"`, 1),
		"a redacted secret":           bashRequest("s2", "npm test --token=ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
		"another tool":                strings.Replace(bashRequest("s2", "npm test"), `"Bash"`, `"bash"`, 1),
		"an argument twice":           strings.Replace(bashRequest("s2", "npm test"), `{"command":`, `{"command":"rm x","command":`, 1),
		"an argument of another type": strings.Replace(bashRequest("s2", "npm test"), `"command":"npm test"`, `"command":["npm test"]`, 1),
	} {
		require.Equal(t, "pending", h.postedOutcome(event), name)
	}
	list, err := h.Store.Rules(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, int64(1), list[0].Uses)
}

func TestRule_AppliesInBatch(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.makeRule(schema.ThenAllow)
	raw, _, err := h.IngestBatch(t.Context(), []byte("["+bashRequest("s2", "npm test")+","+bashRequest("s2", "ls")+"]"), Caller{})
	require.NoError(t, err)
	var results []schema.BatchResult
	require.NoError(t, json.Unmarshal(raw, &results))
	require.Equal(t, schema.ByRule, results[0].Event.HumanInTheLoopStatus.Source)
	require.Equal(t, schema.Pending, results[1].Event.HumanInTheLoopStatus.Status)
}

// TestRule_DeniesForSession: until the session ends, exactly the same call in the same
// session is denied immediately.
func TestRule_DeniesForSession(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.makeRule(schema.ThenDeny, sessionReach, func(d *schema.RuleDraft) { d.Scope, d.When = schema.ScopeCall, nil })
	require.Equal(t, "deny by rule 1", h.postedOutcome(bashRequest("s", "npm test")))
	require.Equal(t, "deny by rule 1", h.postedOutcome(bashRequest("s", "npm test")))
	require.Equal(t, "pending", h.postedOutcome(bashRequest("s", "npm test --bail")))
	require.Equal(t, "pending", h.postedOutcome(bashRequest("s2", "npm test")))
	h.post(`{"source_app":"a","session_id":"s2","hook_event_type":"SessionEnd","payload":{}}`)
	require.Equal(t, "deny by rule 1", h.postedOutcome(bashRequest("s", "npm test")), "the end of another session does not matter")
	h.post(`{"source_app":"a","session_id":"s","hook_event_type":"SessionEnd","payload":{}}`)
	require.Equal(t, "pending", h.postedOutcome(bashRequest("s", "npm test")), "a resumed session is a new session")
}

func TestRule_SessionReachEndsAfterCrash(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.makeRule(schema.ThenAllow, sessionReach)
	h.rules.Store(nil) // simulates a crash between storing the event and ending the rule
	h.post(`{"source_app":"a","session_id":"s","hook_event_type":"SessionEnd","payload":{}}`)
	require.NoError(t, h.Store.(store.Store).Close())
	h = openTestHub(t, h.path)
	require.Equal(t, "pending", h.postedOutcome(bashRequest("s", "npm test")))
}

// TestRule_AppliesAfterCrash: on start, the hub decides questions that were stored after the
// rule was made and not decided. Older questions stay pending.
func TestRule_AppliesAfterCrash(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	early := h.post(bashRequest("s", "npm test")).ID
	h.makeRule(schema.ThenAllow)
	h.rules.Store(nil) // simulates a crash before the decision
	late := h.post(bashRequest("s2", "npm test", `"timeout":0`)).ID
	require.NoError(t, h.Store.(store.Store).Close())
	h = openTestHub(t, h.path)
	h.startDeadlines()
	require.Equal(t, schema.ByRule, h.awaitSettled(late).Source)
	require.Equal(t, schema.Pending, h.status(early).Status)
	require.Equal(t, "approve by rule 1", h.postedOutcome(bashRequest("s3", "npm test")))
}

func TestRule_AppliesToPendingOnRequest(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	pending, other := h.post(bashRequest("s", "npm test -- --bail")).ID, h.post(bashRequest("s", "ls")).ID
	held := h.post(bashRequest("s", "npm test -- --watch")).ID
	keep := denial()
	keep.HoldMS = 30_000
	_, err := h.Respond(t.Context(), held, keep, Caller{})
	require.NoError(t, err)
	h.makeRule(schema.ThenAllow)
	require.Equal(t, schema.Pending, h.status(pending).Status, "a rule does not decide older questions by default")
	r := h.makeRule(schema.ThenAllow, func(d *schema.RuleDraft) {
		d.Scope, d.When, d.From, d.ApplyNow = schema.ScopeCall, nil, pending, true
	})
	require.Equal(t, int64(1), r.Uses)
	require.Equal(t, &schema.RuleRef{ID: 2, Text: r.Text}, h.status(pending).Rule)
	require.Equal(t, schema.Pending, h.status(other).Status)
	require.NotNil(t, h.status(held).Held, "a held answer is kept")
}

func TestRule_RevokedDecidesNothing(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	r := h.makeRule(schema.ThenAllow)
	stale := h.rules.Load()
	_, err := h.RevokeRule(t.Context(), r.ID, Caller{Identity: ada})
	require.NoError(t, err)
	h.rules.Store(stale) // a concurrent reader still has the old set
	require.Equal(t, "pending", h.postedOutcome(bashRequest("s2", "npm test")))
	list, err := h.Store.Rules(t.Context(), 1)
	require.NoError(t, err)
	require.Zero(t, list[0].Uses)
}

// TestRule_ClockStepNeverExtends: setting the wall clock back gives a rule no more time,
// and setting it forward shortens its time.
func TestRule_ClockStepNeverExtends(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{0, 3 * time.Hour, -3 * time.Hour} {
		var set, passed atomic.Int64
		began := time.Now().Round(0)
		h := newTestHub(t, func(c *Config) {
			c.Clock = func() time.Time { return began.Add(time.Duration(set.Load() + passed.Load())) }
		})
		var last int64
		h.elapsed = func(time.Time, time.Time) time.Duration {
			d := passed.Load() - last
			last = passed.Load()
			return time.Duration(d)
		}
		h.makeRule(schema.ThenAllow) // 8 h
		set.Store(int64(step))
		require.Equal(t, "approve by rule 1", h.postedOutcome(bashRequest("s2", "npm test")), step)
		passed.Store(int64(4 * time.Hour))
		require.Equal(t, "approve by rule 1", h.postedOutcome(bashRequest("s2", "npm test")), step)
		passed.Store(int64(6 * time.Hour))
		want := map[bool]string{true: "pending", false: "approve by rule 1"}[step > 0]
		require.Equal(t, want, h.postedOutcome(bashRequest("s2", "npm test")), step)
		passed.Store(int64(8*time.Hour + time.Minute))
		require.Equal(t, "pending", h.postedOutcome(bashRequest("s2", "npm test")), step)
	}
}

func TestRule_RejectsAgents(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	r := h.makeRule(schema.ThenAllow)
	agent := Caller{Identity: auth.Identity{Name: "ci", Agent: true, Via: "token"}}
	_, err := h.CreateRule(t.Context(), &schema.RuleDraft{From: 1, Then: "allow", Scope: "call", Reach: "session"}, agent)
	require.ErrorIs(t, err, schema.ErrNotAllowed)
	_, err = h.PreviewRule(t.Context(), &schema.RuleDraft{From: 1, Then: "allow", Scope: "call", Reach: "session"}, agent)
	require.ErrorIs(t, err, schema.ErrNotAllowed)
	_, err = h.RevokeRule(t.Context(), r.ID, agent)
	require.ErrorIs(t, err, schema.ErrNotAllowed)
}

// TestRule_SurvivesConcurrentChanges: rules are made and revoked while questions are
// ingested, so the active set is replaced during evaluations.
func TestRule_SurvivesConcurrentChanges(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	var each sync.WaitGroup
	from := h.post(bashRequest("s", "npm test")).ID
	for i := range 8 {
		each.Go(func() {
			raw, err := h.CreateRule(t.Context(), &schema.RuleDraft{From: from, Then: "allow", Scope: "call", Reach: "session"}, Caller{Identity: ada})
			var r schema.Rule
			if err == nil {
				err = json.Unmarshal(raw, &r)
			}
			if err == nil {
				_, err = h.Ingest(t.Context(), []byte(bashRequest("s", "npm test")), Caller{})
			}
			if err == nil && i > 0 {
				_, err = h.RevokeRule(t.Context(), r.ID, Caller{Identity: ada})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	each.Wait()
	require.Equal(t, 1, h.rules.Load().Len(), "the active rules are the stored ones")
	list, err := h.Store.Rules(t.Context(), 100)
	require.NoError(t, err)
	var uses int64
	for _, r := range list {
		uses += r.Uses
	}
	require.Equal(t, int64(8), uses, "each question was answered by one rule")
}

// TestMakeRule_RequiresRole: a rule for one session requires an operator and a wider one an
// admin, also on an open hub. The process that asked can never make a rule.
func TestMakeRule_RequiresRole(t *testing.T) {
	t.Parallel()
	self := &peer.Process{Program: peer.Program{PID: 4711, Exe: "/usr/bin/agent"}, Boot: "b", Chain: []peer.ProcessRef{{PID: 4711, Start: 1}}}
	h := newTestHub(t, withPeople(t), func(c *Config) {
		c.Processes = processesFunc(func(_, _ netip.AddrPort) (*peer.Process, bool) { return self, true })
	})
	agent := Caller{Remote: netip.MustParseAddrPort("127.0.0.1:4711")}
	known := agent
	known.Identity = auth.Identity{Name: "bob", Role: schema.Operator, Via: "token", ID: "t_9"}
	operator := Caller{Identity: auth.Identity{Name: "bob", Role: schema.Operator, Via: "session"}}
	asked, err := h.Ingest(t.Context(), []byte(bashRequest("s", "npm test")), agent)
	require.NoError(t, err)
	try := func(reach string, by Caller) error {
		d := &schema.RuleDraft{From: asked.ID, Then: schema.ThenDeny, Scope: schema.ScopeCall, Reach: reach}
		_, err := h.CreateRule(t.Context(), d, by)
		return err
	}
	require.ErrorIs(t, try(schema.ReachSession, agent), schema.ErrSignIn, "a rule outlives the lock, so even an open hub must know its creator")
	require.ErrorIs(t, try(schema.ReachSession, known), schema.ErrSelfApproval)
	require.ErrorIs(t, try(schema.ReachEverywhere, Caller{}), schema.ErrSignIn)
	require.NoError(t, h.People.Lock(t.Context(), true, ada))
	require.ErrorIs(t, try(schema.ReachSession, Caller{}), schema.ErrSignIn)
	require.NoError(t, try(schema.ReachSession, operator))
	require.ErrorIs(t, try(schema.ReachAgent, operator), schema.ErrNotAllowed)
	require.NoError(t, try(schema.ReachAgent, Caller{Identity: ada}))
	_, err = h.RevokeRule(t.Context(), 2, Caller{})
	require.ErrorIs(t, err, schema.ErrSignIn)
	_, err = h.RevokeRule(t.Context(), 2, operator)
	require.NoError(t, err, "any operator can revoke a rule")
}

// TestRule_ExcludesRequester: a person's rule does not answer their own questions, because
// they may not answer them themselves.
func TestRule_ExcludesRequester(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPeople(t))
	from := h.post(bashRequest("s", "npm test")).ID
	_, err := h.CreateRule(t.Context(), newRuleDraft(from, schema.ThenAllow), Caller{Identity: ada})
	require.NoError(t, err)
	own := ada
	own.Via, own.ID = "token", "t_2"
	ask := func(more ...string) schema.State {
		saved, err := h.Ingest(t.Context(), []byte(bashRequest("s2", "npm test", more...)), Caller{Identity: own})
		require.NoError(t, err)
		return h.status(saved.ID).Status
	}
	require.Equal(t, schema.Pending, ask())
	require.Equal(t, schema.Responded, ask(`"excludeRequester":false`))
	require.Equal(t, "approve by rule 1", h.postedOutcome(bashRequest("s3", "npm test")))
}

// TestDuplicates_ExcludeSelfApproval: if one of several processes with equal questions
// answers the group, its own question is left out and stays pending.
func TestDuplicates_ExcludeSelfApproval(t *testing.T) {
	t.Parallel()
	process := func(pid int) *peer.Process {
		return &peer.Process{Program: peer.Program{PID: pid}, Boot: "b", Chain: []peer.ProcessRef{{PID: pid, Start: 1}}}
	}
	h := newTestHub(t, func(c *Config) {
		c.Processes = processesFunc(func(remote, _ netip.AddrPort) (*peer.Process, bool) { return process(int(remote.Port())), true })
	})
	var ids []schema.EventID
	for _, port := range []uint16{4001, 4002, 4003} {
		saved, err := h.Ingest(t.Context(), []byte(bashRequest("s", "npm test")), Caller{Remote: netip.AddrPortFrom(netip.IPv6Loopback(), port)})
		require.NoError(t, err)
		ids = append(ids, saved.ID)
	}
	require.Equal(t, 3, h.status(ids[0]).Waiters)
	other := Caller{Remote: netip.AddrPortFrom(netip.IPv6Loopback(), 4002)}
	_, err := h.Respond(t.Context(), ids[0], withRevision(h.status(ids[0]).Revision, approval()), other)
	require.NoError(t, err)
	require.Equal(t, []string{"approve ×3", "pending", "approve as 1"}, h.summaries(ids...))
}

// testRequests are open test requests, by their idempotency keys.
type testRequests map[string]bool

func (r testRequests) Owns(key string) bool { return r[key] }

// A test request is for the person, and no one else can ask in its name.
func TestRule_LeavesTestRequestsPending(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.Tests = testRequests{"k1": true}
	h.makeRule(schema.ThenAllow)
	var event map[string]any
	require.NoError(t, json.Unmarshal([]byte(bashRequest("s2", "npm test")), &event))
	event["source_app"] = schema.TestApp
	for key, want := range map[string]string{"k1": "pending", "k2": "", "": ""} {
		event["idempotency_key"] = key
		body, err := json.Marshal(event)
		require.NoError(t, err)
		if want == "" {
			_, err := h.Ingest(t.Context(), body, Caller{})
			require.ErrorIs(t, err, schema.ErrInvalid)
			continue
		}
		require.Equal(t, want, h.postedOutcome(string(body)))
		h.applyRulesToPending(t.Context(), 0)
		pending, err := h.Store.Pending(t.Context())
		require.NoError(t, err)
		require.Equal(t, schema.TestApp, pending[len(pending)-1].App)
		require.Contains(t, string(pending[len(pending)-1].Status), `"test":true`)
	}
}
