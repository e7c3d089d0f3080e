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
)

// runs asks whether a command may run, in a session of the application a.
func runs(session, command string, more ...string) string {
	call, _ := json.Marshal(map[string]string{"command": command})
	return fmt.Sprintf(`{"source_app":"a","session_id":%q,"hook_event_type":"PreToolUse","payload":{"cwd":"/home/dev/shop"},"humanInTheLoop":`+
		`{"question":"May I?","type":"permission","responseWebSocketUrl":"ws://127.0.0.1:50123/secret","toolCall":{"name":"Bash","arguments":%s}%s}}`,
		session, call, strings.Join(append([]string{""}, more...), ","))
}

// always makes a rule at a question: what is like npm test, anywhere, unless told
// otherwise.
func (b *bench) always(then string, change ...func(*schema.RuleDraft)) schema.Rule {
	b.t.Helper()
	d := &schema.RuleDraft{
		From: b.post(runs("s", "npm test")).ID, Then: then, Scope: schema.ScopeWhen, Reach: schema.ReachEverywhere,
		When: []schema.Condition{{Argument: "command", Is: "starts_with", Value: json.RawMessage(`"npm test"`)}},
	}
	for _, fn := range change {
		fn(d)
	}
	raw, err := b.MakeRule(b.t.Context(), d, Caller{})
	require.NoError(b.t, err)
	var r schema.Rule
	require.NoError(b.t, json.Unmarshal(raw, &r))
	return r
}

// decided says what became of a question, by its poster's own word.
func (b *bench) decided(event string) string {
	b.t.Helper()
	st := decode(b.t, b.post(event).JSON).HumanInTheLoopStatus
	if st.Status == schema.Pending {
		return "pending"
	}
	return string(st.Outcome) + " by " + st.RespondedBy.Name
}

func session(d *schema.RuleDraft) { d.Reach = schema.ReachSession }

func TestARuleAnswersLikeAVeryFastPerson(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.always(schema.ThenDeny, func(d *schema.RuleDraft) { d.Reason = "not on Fridays" })
	saved := b.post(runs("s2", "npm test"))
	st := decode(t, saved.JSON).HumanInTheLoopStatus
	require.Equal(t, *st, b.status(saved.ID))
	require.Equal(t, schema.Deny, st.Outcome)
	require.False(t, *st.Response.Permission)
	require.Equal(t, "not on Fridays", st.Reason)
	require.Contains(t, st.Response.Guidance, "A rule of local user refused this (Deny Bash when command starts with \"npm test\", whoever asks, for 8 hours).")
	require.Contains(t, st.Response.Guidance, "not on Fridays")
	require.Equal(t, schema.Queued, st.Delivery.State, "its way to the agent is everybody's")
	b.mu.Lock()
	require.Equal(t, []schema.EventID{saved.ID}, b.dispatched)
	b.mu.Unlock()
	_, err := b.Respond(t.Context(), saved.ID, yes(), Caller{})
	require.ErrorIs(t, err, schema.ErrDecided)
	answer, err := b.Pull(t.Context(), saved.ID, Pull{})
	require.NoError(t, err)
	require.Contains(t, string(answer), `"rule":{"id":1,"text":"Deny Bash`)
}

func TestWhatARuleLeavesToAPerson(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.Redactor = redact.New(redact.Options{}) })
	b.always(schema.ThenAllow)
	require.Equal(t, "approve by rule 1", b.decided(runs("s2", "npm test -- --bail")))
	for name, event := range map[string]string{
		"another command":         runs("s2", "npm testevil"),
		"two commands":            runs("s2", "npm test; ls"),
		"high by the agent":       runs("s2", "npm test", `"risk":"high"`),
		"critical by the agent":   runs("s2", "npm test", `"risk":"critical"`),
		"high by the hub":         runs("s2", "npm test -- ~/.ssh/id_rsa", `"risk":"high"`),
		"a reason is wanted":      runs("s2", "npm test", `"reasonRequired":"always"`),
		"a choice":                strings.Replace(runs("s2", "npm test"), `"type":"permission"`, `"type":"choice","choices":["a","b"]`, 1),
		"a text":                  strings.Replace(runs("s2", "npm test"), `"type":"permission"`, `"type":"question"`, 1),
		"a secret was taken out":  runs("s2", "npm test --token=ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
		"another tool":            strings.Replace(runs("s2", "npm test"), `"Bash"`, `"bash"`, 1),
		"an argument twice":       strings.Replace(runs("s2", "npm test"), `{"command":`, `{"command":"rm x","command":`, 1),
		"a call in other clothes": strings.Replace(runs("s2", "npm test"), `"command":"npm test"`, `"command":["npm test"]`, 1),
	} {
		require.Equal(t, "pending", b.decided(event), name)
	}
	list, err := b.Store.Rules(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, int64(1), list[0].Uses)
}

func TestARuleInABatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.always(schema.ThenAllow)
	raw, _, err := b.IngestBatch(t.Context(), []byte("["+runs("s2", "npm test")+","+runs("s2", "ls")+"]"), Caller{})
	require.NoError(t, err)
	var results []schema.BatchResult
	require.NoError(t, json.Unmarshal(raw, &results))
	require.Equal(t, schema.ByRule, results[0].Event.HumanInTheLoopStatus.Source)
	require.Equal(t, schema.Pending, results[1].Event.HumanInTheLoopStatus.Status)
}

// TestARememberedDenial: the same call of the same session is refused at once, until the
// session ends; nothing else is.
func TestARememberedDenial(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.always(schema.ThenDeny, session, func(d *schema.RuleDraft) { d.Scope, d.When = schema.ScopeCall, nil })
	require.Equal(t, "deny by rule 1", b.decided(runs("s", "npm test")))
	require.Equal(t, "deny by rule 1", b.decided(runs("s", "npm test")))
	require.Equal(t, "pending", b.decided(runs("s", "npm test --bail")))
	require.Equal(t, "pending", b.decided(runs("s2", "npm test")))
	b.post(`{"source_app":"a","session_id":"s2","hook_event_type":"SessionEnd","payload":{}}`)
	require.Equal(t, "deny by rule 1", b.decided(runs("s", "npm test")), "another session's end")
	b.post(`{"source_app":"a","session_id":"s","hook_event_type":"SessionEnd","payload":{}}`)
	require.Equal(t, "pending", b.decided(runs("s", "npm test")), "taken up again, it is another")
}

func TestASessionsRuleEndsWithItWhateverHappens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.always(schema.ThenAllow, session)
	b.rules.Store(nil) // as if the hub had stopped between the event and the end of the rule
	b.post(`{"source_app":"a","session_id":"s","hook_event_type":"SessionEnd","payload":{}}`)
	require.NoError(t, b.Store.Close())
	b = open(t, b.path)
	require.Equal(t, "pending", b.decided(runs("s", "npm test")))
}

// TestARuleIsFinishedAfterACrash: what was stored and not decided yet is decided when
// the hub begins; what was asked before the rule was made is not.
func TestARuleIsFinishedAfterACrash(t *testing.T) {
	t.Parallel()
	b := setup(t)
	early := b.post(runs("s", "npm test")).ID
	b.always(schema.ThenAllow)
	b.rules.Store(nil) // as if the hub had stopped before it was decided
	late := b.post(runs("s2", "npm test", `"timeout":0`)).ID
	require.NoError(t, b.Store.Close())
	b = open(t, b.path)
	b.ends()
	require.Equal(t, schema.ByRule, b.settled(late).Source)
	require.Equal(t, schema.Pending, b.status(early).Status)
	require.Equal(t, "approve by rule 1", b.decided(runs("s3", "npm test")))
}

func TestApplyNow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pending, other := b.post(runs("s", "npm test -- --bail")).ID, b.post(runs("s", "ls")).ID
	held := b.post(runs("s", "npm test -- --watch")).ID
	keep := no()
	keep.HoldMS = 30_000
	_, err := b.Respond(t.Context(), held, keep, Caller{})
	require.NoError(t, err)
	b.always(schema.ThenAllow)
	require.Equal(t, schema.Pending, b.status(pending).Status, "unless it is said")
	r := b.always(schema.ThenAllow, func(d *schema.RuleDraft) { d.Scope, d.When, d.From, d.ApplyNow = schema.ScopeCall, nil, pending, true })
	require.Equal(t, int64(1), r.Uses)
	require.Equal(t, &schema.RuleRef{ID: 2, Text: r.Text}, b.status(pending).Rule)
	require.Equal(t, schema.Pending, b.status(other).Status)
	require.NotNil(t, b.status(held).Held, "a person was faster")
}

func TestARevokedRuleDecidesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.always(schema.ThenAllow)
	stale := b.rules.Load()
	_, err := b.RevokeRule(t.Context(), r.ID, Caller{})
	require.NoError(t, err)
	b.rules.Store(stale) // of one who read it a moment ago
	require.Equal(t, "pending", b.decided(runs("s2", "npm test")))
	list, err := b.Store.Rules(t.Context(), 1)
	require.NoError(t, err)
	require.Zero(t, list[0].Uses)
}

// TestARulesTimeAndTheClock: a clock that is set back gives no rule more time, one that
// is set on takes it.
func TestARulesTimeAndTheClock(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{0, 3 * time.Hour, -3 * time.Hour} {
		var set, passed atomic.Int64
		began := time.Now().Round(0)
		b := setup(t, func(c *Config) {
			c.Clock = func() time.Time { return began.Add(time.Duration(set.Load() + passed.Load())) }
		})
		var last int64
		b.elapsed = func(time.Time, time.Time) time.Duration {
			d := passed.Load() - last
			last = passed.Load()
			return time.Duration(d)
		}
		b.always(schema.ThenAllow) // 8 h
		set.Store(int64(step))
		require.Equal(t, "approve by rule 1", b.decided(runs("s2", "npm test")), step)
		passed.Store(int64(4 * time.Hour))
		require.Equal(t, "approve by rule 1", b.decided(runs("s2", "npm test")), step)
		passed.Store(int64(6 * time.Hour))
		want := map[bool]string{true: "pending", false: "approve by rule 1"}[step > 0]
		require.Equal(t, want, b.decided(runs("s2", "npm test")), step)
		passed.Store(int64(8*time.Hour + time.Minute))
		require.Equal(t, "pending", b.decided(runs("s2", "npm test")), step)
	}
}

func TestNoAgentMakesRules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.always(schema.ThenAllow)
	agent := Caller{Who: auth.Identity{Name: "ci", Agent: true, Via: "token"}}
	_, err := b.MakeRule(t.Context(), &schema.RuleDraft{From: 1, Then: "allow", Scope: "call", Reach: "session"}, agent)
	require.ErrorIs(t, err, schema.ErrNotAllowed)
	_, err = b.PreviewRule(t.Context(), &schema.RuleDraft{From: 1, Then: "allow", Scope: "call", Reach: "session"}, agent)
	require.ErrorIs(t, err, schema.ErrNotAllowed)
	_, err = b.RevokeRule(t.Context(), r.ID, agent)
	require.ErrorIs(t, err, schema.ErrNotAllowed)
}

// TestManyRulesAtOnce: made and revoked while questions come in, with the set swapped
// under them.
func TestManyRulesAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var each sync.WaitGroup
	from := b.post(runs("s", "npm test")).ID
	for i := range 8 {
		each.Go(func() {
			raw, err := b.MakeRule(t.Context(), &schema.RuleDraft{From: from, Then: "allow", Scope: "call", Reach: "session"}, Caller{})
			var r schema.Rule
			if err == nil {
				err = json.Unmarshal(raw, &r)
			}
			if err == nil {
				_, err = b.Ingest(t.Context(), []byte(runs("s", "npm test")), Caller{})
			}
			if err == nil && i > 0 {
				_, err = b.RevokeRule(t.Context(), r.ID, Caller{})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	each.Wait()
	require.Equal(t, 1, b.rules.Load().Len(), "what holds is what is stored")
	list, err := b.Store.Rules(t.Context(), 100)
	require.NoError(t, err)
	var uses int64
	for _, r := range list {
		uses += r.Uses
	}
	require.Equal(t, int64(8), uses, "each question was answered by one of them")
}

// TestWhoMakesRules: on a locked hub an operator for one session, an admin for more;
// never the program that asks, on no hub.
func TestWhoMakesRules(t *testing.T) {
	t.Parallel()
	self := &peer.Process{Process: schema.Process{PID: 4711, Exe: "/usr/bin/agent"}, Boot: "b", Chain: []peer.ProcessRef{{PID: 4711, Start: 1}}}
	b := setup(t, withPeople(t), func(c *Config) { c.Lookup = func(_, _ netip.AddrPort) (*peer.Process, bool) { return self, true } })
	agent := Caller{Remote: netip.MustParseAddrPort("127.0.0.1:4711")}
	operator := Caller{Who: auth.Identity{Name: "bob", Role: schema.Operator, Via: "session"}}
	asked, err := b.Ingest(t.Context(), []byte(runs("s", "npm test")), agent)
	require.NoError(t, err)
	try := func(reach string, by Caller) error {
		d := &schema.RuleDraft{From: asked.ID, Then: schema.ThenDeny, Scope: schema.ScopeCall, Reach: reach}
		_, err := b.MakeRule(t.Context(), d, by)
		return err
	}
	require.ErrorIs(t, try(schema.ReachSession, agent), schema.ErrSelfApproval)
	require.NoError(t, try(schema.ReachEverywhere, Caller{}), "on an open hub, whoever is there")
	require.NoError(t, b.People.Lock(t.Context(), true, ada))
	require.ErrorIs(t, try(schema.ReachSession, Caller{}), schema.ErrSignIn)
	require.NoError(t, try(schema.ReachSession, operator))
	require.ErrorIs(t, try(schema.ReachAgent, operator), schema.ErrNotAllowed)
	require.NoError(t, try(schema.ReachAgent, Caller{Who: ada}))
	_, err = b.RevokeRule(t.Context(), 3, Caller{})
	require.ErrorIs(t, err, schema.ErrSignIn)
	_, err = b.RevokeRule(t.Context(), 3, operator)
	require.NoError(t, err, "to take back what answers by itself is any operator's")
}

// TestNobodyAnswersTheirOwnQuestionsByARule, as they may not by hand.
func TestNobodyAnswersTheirOwnQuestionsByARule(t *testing.T) {
	t.Parallel()
	b := setup(t, withPeople(t))
	from := b.post(runs("s", "npm test")).ID
	_, err := b.MakeRule(t.Context(), like(from, schema.ThenAllow), Caller{Who: ada})
	require.NoError(t, err)
	own := ada
	own.Via, own.ID = "token", "t_2"
	ask := func(more ...string) schema.State {
		saved, err := b.Ingest(t.Context(), []byte(runs("s2", "npm test", more...)), Caller{Who: own})
		require.NoError(t, err)
		return b.status(saved.ID).Status
	}
	require.Equal(t, schema.Pending, ask())
	require.Equal(t, schema.Responded, ask(`"excludeRequester":false`))
	require.Equal(t, "approve by rule 1", b.decided(runs("s3", "npm test")))
}

// TestAnAnswerIsNotForWhoSentIt: of two programs that ask the same, one answers for
// both; its own question stays a person's where that would be refused, or marked.
func TestAnAnswerIsNotForWhoSentIt(t *testing.T) {
	t.Parallel()
	process := func(pid int) *peer.Process {
		return &peer.Process{Process: schema.Process{PID: pid}, Boot: "b", Chain: []peer.ProcessRef{{PID: pid, Start: 1}}}
	}
	b := setup(t, func(c *Config) {
		c.Lookup = func(remote, _ netip.AddrPort) (*peer.Process, bool) { return process(int(remote.Port())), true }
	})
	var ids []schema.EventID
	for _, port := range []uint16{4001, 4002, 4003} {
		saved, err := b.Ingest(t.Context(), []byte(runs("s", "npm test")), Caller{Remote: netip.AddrPortFrom(netip.IPv6Loopback(), port)})
		require.NoError(t, err)
		ids = append(ids, saved.ID)
	}
	require.Equal(t, 3, b.status(ids[0]).Waiters)
	_, err := b.Respond(t.Context(), ids[0], seen(b.status(ids[0]).Revision, yes()), Caller{Remote: netip.AddrPortFrom(netip.IPv6Loopback(), 4002)})
	require.NoError(t, err)
	require.Equal(t, []string{"approve ×3", "pending", "approve as 1"}, b.said(ids...))
}
