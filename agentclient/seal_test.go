package agentclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// knownHubs returns the path of a pin file with these lines, or of none without lines.
func knownHubs(t testing.TB, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "known_hubs")
	if len(lines) > 0 {
		require.NoError(t, fakehub.WritePins(file, lines...))
	}
	return file
}

// readFile returns the text of a file, or "" if it does not exist.
func readFile(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return string(text)
}

// setupSigned returns a hub that signs and a client whose account has pinned it.
func setupSigned(t *testing.T, c *fixtureConfig) *fixture {
	t.Helper()
	if c.hub.Key == nil {
		c.hub.Key = fakehub.NewKey()
	}
	c.opts.KnownHubs = knownHubs(t)
	b := setup(t, c)
	require.NoError(t, fakehub.WritePins(c.opts.KnownHubs, b.hub.PinLine()))
	return b
}

// answered asks, answers the question by push or pull, and returns the result.
func (b *fixture) answered(t *testing.T, r agentclient.Request, answer schema.Answer, pull bool) askResult {
	t.Helper()
	next := len(b.hub.Events()) + 1
	got := b.ask(b.ctx, r)
	q := b.waitForQuestion(t, next)
	if pull {
		q.Decide(q.Frame(answer))
	} else if _, err := q.Push(b.ctx, answer); err != nil {
		t.Error(err)
	}
	return b.waitForResult(t, got)
}

// The hub must not show the answer as delivered, and names the remedy if the agent trusts another hub.
func TestSeal_RejectionIsReported(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		forge func(*fakehub.Question, *schema.Answer)
		want  string
	}{
		"no seal": {func(_ *fakehub.Question, a *schema.Answer) { a.Seal = nil }, schema.AckUntrusted},
		"another key": {func(_ *fakehub.Question, a *schema.Answer) {
			*a.Seal = schema.SignEnvelope(schema.StatementPayload, a.Seal.Payload, otherKey)
		}, schema.AckUntrusted},
		"flipped byte": {func(_ *fakehub.Question, a *schema.Answer) { a.Seal.Payload[len(a.Seal.Payload)/2] ^= 1 }, schema.AckMismatch},
	} {
		for way, pull := range map[string]bool{"push": false, "pull": true} {
			t.Run(name+", "+way, func(t *testing.T) {
				t.Parallel()
				b := setupSigned(t, &fixtureConfig{hub: fakehub.Hub{Forge: test.forge}, timings: agentclient.Timings{PullDelay: time.Millisecond}})
				if !pull {
					b = setupSigned(t, &fixtureConfig{hub: fakehub.Hub{Forge: test.forge}})
				}
				got := b.ask(b.ctx, agentclient.Request{Question: "Go?"})
				q := b.waitForQuestion(t, 1)
				result := ""
				if pull {
					q.Decide(q.Frame(approval()))
				} else {
					ack, err := q.Dial(b.ctx, q.Frame(approval()))
					require.NoError(t, err)
					result = ack.Result
				}
				require.False(t, b.waitForResult(t, got).Approved())
				if pull {
					result = q.Rejected
				}
				require.Equal(t, test.want, result)
			})
		}
	}
}

func TestSeal_Verification(t *testing.T) {
	t.Parallel()
	yes := agentclient.Request{Question: "Go?"}
	for name, test := range map[string]struct {
		forge  func(*fakehub.Question, *schema.Answer)
		reason string // with HUB, KEYID and OTHER as placeholders; empty: the answer counts
	}{
		"signed": {},
		"no seal": {
			func(_ *fakehub.Question, a *schema.Answer) { a.Seal = nil },
			"The hub at HUB did not sign this answer. This account trusts hub KEYID (HUB). Nothing was approved. If you replaced the hub, run: hookback trust HUB",
		},
		"another payload type": {
			func(_ *fakehub.Question, a *schema.Answer) { a.Seal.PayloadType = schema.HelloPayload },
			"The hub at HUB did not sign this answer. ",
		},
		"another key": {
			func(_ *fakehub.Question, a *schema.Answer) {
				*a.Seal = schema.SignEnvelope(schema.StatementPayload, a.Seal.Payload, otherKey)
			},
			"The answer is signed by an unknown key (OTHER). This account trusts hub KEYID (HUB). Nothing was approved. If you replaced the hub, run: hookback trust HUB",
		},
		"another key that claims the pinned id": {
			func(_ *fakehub.Question, a *schema.Answer) {
				id := a.Seal.Signatures[0].KeyID
				*a.Seal = schema.SignEnvelope(schema.StatementPayload, a.Seal.Payload, otherKey)
				a.Seal.Signatures[0].KeyID = id
			},
			"The signature does not match the answer. Nothing was approved.",
		},
		"no signature":  {func(_ *fakehub.Question, a *schema.Answer) { a.Seal.Signatures = nil }, "The answer is signed by an unknown key (no signature). "},
		"hostile keyid": {func(_ *fakehub.Question, a *schema.Answer) { a.Seal.Signatures[0].KeyID = "\x1b[2Japproved" }, "The answer is signed by an unknown key (an invalid key id). "},
		"flipped byte": {
			func(_ *fakehub.Question, a *schema.Answer) { a.Seal.Payload[len(a.Seal.Payload)/2] ^= 1 },
			"The signature does not match the answer. Nothing was approved.",
		},
		"another question": {
			func(q *fakehub.Question, a *schema.Answer) {
				s := q.Statement(*a)
				s.Subject[0].Digest["sha256"] = strings.Repeat("ab", 32)
				*a.Seal = q.Sign(s)
			},
			"The answer is for a different question than the one this agent asked. Nothing was approved.",
		},
		"another predicate": {
			func(q *fakehub.Question, a *schema.Answer) {
				s := q.Statement(*a)
				s.PredicateType = "https://example.com/other"
				*a.Seal = q.Sign(s)
			},
			"The answer is for a different question than the one this agent asked. Nothing was approved.",
		},
	} {
		for way, pull := range map[string]bool{"push": false, "pull": true} {
			t.Run(name+", "+way, func(t *testing.T) {
				t.Parallel()
				b := setupSigned(t, &fixtureConfig{
					hub:     fakehub.Hub{Forge: test.forge},
					opts:    agentclient.Options{OnUnreachable: agentclient.Allow},
					timings: agentclient.Timings{PullDelay: time.Millisecond},
				})
				got := b.answered(t, yes, approval(), pull)
				require.NoError(t, got.err)
				if test.reason == "" {
					require.True(t, got.Approved())
					require.True(t, got.Signed)
					return
				}
				require.False(t, got.Approved())
				require.False(t, got.Signed)
				require.Equal(t, agentclient.Malformed, got.Outcome)
				want := strings.NewReplacer("HUB", b.hub.URL(), "KEYID", b.hub.KeyID(), "OTHER", otherKeyID).Replace(test.reason)
				require.Contains(t, got.Reason, want)
			})
		}
	}
}

var (
	otherKey   = fakehub.NewKey()
	otherHub   = &fakehub.Hub{Key: otherKey} // never started
	otherKeyID = otherHub.KeyID()
)

// The outer members of an answer count for nothing: an attacker who can change the frame
// can't change the signed statement.
func TestSeal_OuterMembersAreIgnored(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ signed, outer schema.Answer }{
		"denial to approval": {denial(), approval()},
		"approval to denial": {approval(), denial()},
		"timeout to approval": {
			schema.Answer{Permission: ptr(false), Outcome: schema.Timeout, Source: schema.ByTimeout}, approval(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupSigned(t, &fixtureConfig{hub: fakehub.Hub{Forge: func(_ *fakehub.Question, a *schema.Answer) {
				a.Permission, a.Outcome, a.Source = test.outer.Permission, test.outer.Outcome, test.outer.Source
				a.Reason, a.ModifiedArguments = "forged", raw(`{"command":"rm -rf /"}`)
				a.RespondedBy = &schema.Responder{Name: "Mallory"}
			}}})
			test.signed.Reason, test.signed.RespondedBy = "real", &schema.Responder{Name: "Ana"}
			got := b.answered(t, agentclient.Request{
				Question: "Go?", ToolCall: &schema.ToolCall{Name: "Bash", Arguments: raw(`{"command":"ls"}`), Editable: true},
			}, test.signed, false)
			require.NoError(t, got.err)
			require.Equal(t, test.signed.Outcome, got.Outcome)
			require.Equal(t, "real", got.Reason)
			require.Equal(t, "Ana", got.RespondedBy.Name)
			require.False(t, got.Edited)
			require.True(t, got.Signed)
			require.Equal(t, schema.EventID(1), got.EventID)
		})
	}
}

// Every kind of answer reaches the decision through the signed statement.
func TestSeal_CarriesEveryKindOfAnswer(t *testing.T) {
	t.Parallel()
	b := setupSigned(t, &fixtureConfig{})
	got := b.answered(t, agentclient.Request{Question: "Name?", Kind: schema.FreeText}, schema.Answer{Response: ptr("Bo"), Comment: "c"}, false)
	require.Equal(t, "Bo", got.Text)
	require.Equal(t, "c", got.Comment)
	got = b.answered(t, agentclient.Request{Question: "Which?", Choices: []string{"a", "b"}}, schema.Answer{Choice: ptr("b")}, false)
	require.Equal(t, "b", got.Choice)
	form := agentclient.Request{Question: "Form", Questions: []schema.FormQuestion{{ID: "x", Question: "X?"}}}
	got = b.answered(t, form, schema.Answer{Answers: map[string]json.RawMessage{"x": raw(`"y"`)}}, false)
	require.Equal(t, map[string][]string{"x": {"y"}}, got.Answers)
	suggestion := raw(`{"rule": "ls"}`)
	call := &schema.ToolCall{Name: "Bash", Arguments: raw(`{"command":"ls"}`), Editable: true}
	got = b.answered(t, agentclient.Request{
		Question: "Run?", Kind: schema.Permission, ToolCall: call, Event: schema.Event{HumanInTheLoop: &schema.HumanInTheLoop{Suggestions: []json.RawMessage{suggestion}, RequiredApprovals: 2}},
	}, schema.Answer{
		Permission: ptr(true), ModifiedArguments: raw(`{"command":"ls -l"}`), Remember: raw(`{"rule":"ls"}`),
		Votes: []schema.Vote{{User: "ada", Choice: "approve"}, {User: "bo", Choice: "approve"}}, RequiredApprovals: 2,
	}, false)
	require.True(t, got.Approved())
	require.JSONEq(t, `{"command":"ls -l"}`, string(got.Arguments))
	require.Equal(t, suggestion, got.Remember)
	require.Len(t, got.Votes, 2)
}

// A hub of an earlier version signs nothing. Next to a pinned hub it counts only on request.
func TestSeal_UnsignedHub(t *testing.T) {
	t.Parallel()
	elsewhere := otherHub.PinLineFor("http://127.0.0.1:9")
	for name, test := range map[string]struct {
		pins     []string
		unsigned bool
		approved bool
	}{
		"no pin":                 {nil, false, true},
		"pinned hub":             {[]string{elsewhere}, false, false},
		"pinned hub, on request": {[]string{elsewhere}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := knownHubs(t, test.pins...)
			before := readFile(t, file)
			b := setup(t, &fixtureConfig{opts: agentclient.Options{KnownHubs: file, Unsigned: test.unsigned}})
			got := b.answered(t, agentclient.Request{Question: "Go?"}, approval(), false)
			require.Equal(t, test.approved, got.Approved())
			require.False(t, got.Signed)
			require.Equal(t, before, readFile(t, file), "a hub without a key is not pinned")
		})
	}
}

func TestSeal_FollowsRotations(t *testing.T) {
	t.Parallel()
	for _, steps := range []int{1, sign.MaxRotations} {
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			t.Parallel()
			c := &fixtureConfig{opts: agentclient.Options{RememberHubs: true}}
			b := setupSigned(t, c)
			b.hub.Stop()
			for range steps {
				b.hub.Rotate()
			}
			require.NoError(t, b.hub.Start())
			got := b.answered(t, agentclient.Request{Question: "Go?"}, approval(), false)
			require.True(t, got.Approved())
			require.True(t, got.Signed)
			require.Equal(t, b.hub.PinLine(), readFile(t, c.opts.KnownHubs), "the pin follows the key")
		})
	}
}

func TestSeal_RejectsBrokenRotations(t *testing.T) {
	t.Parallel()
	for name, breakChain := range map[string]func(*fakehub.Hub){
		"too long": func(h *fakehub.Hub) {
			for range sign.MaxRotations + 1 {
				h.Rotate()
			}
		},
		"no chain":     func(h *fakehub.Hub) { h.Rotate(); h.Rotations = nil },
		"missing link": func(h *fakehub.Hub) { h.Rotate(); h.Rotate(); h.Rotations = h.Rotations[1:] },
		"flipped byte": func(h *fakehub.Hub) { h.Rotate(); h.Rotations[0].Payload[10] ^= 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &fixtureConfig{}
			b := setupSigned(t, c)
			pinned := readFile(t, c.opts.KnownHubs)
			b.hub.Stop()
			breakChain(b.hub)
			require.NoError(t, b.hub.Start())
			got := b.answered(t, agentclient.Request{Question: "Go?"}, approval(), false)
			require.Equal(t, agentclient.Malformed, got.Outcome)
			require.Contains(t, got.Reason, "The answer is signed by an unknown key ("+b.hub.KeyID()+"). ")
			require.Equal(t, pinned, readFile(t, c.opts.KnownHubs))
		})
	}
}

// An end without an answer is not signed. It denies, and OnUnreachable does not apply.
func TestSeal_UnsignedEndApprovesNothing(t *testing.T) {
	t.Parallel()
	b := setupSigned(t, &fixtureConfig{
		hub: fakehub.Hub{Intercept: func(w http.ResponseWriter, r *http.Request) bool {
			if fakehub.IsPull(r) {
				fakehub.Refuse(w, &schema.StatusError{
					Err:    schema.ErrExpired,
					Status: schema.Status{Status: schema.Failed, Outcome: schema.Approve, Source: schema.ByHuman},
				})
				return true
			}
			return false
		}},
		opts: agentclient.Options{OnUnreachable: agentclient.Allow}, timings: agentclient.Timings{PullDelay: time.Millisecond},
	})
	got := b.waitForResult(t, b.ask(b.ctx, agentclient.Request{Question: "Go?"}))
	require.False(t, got.Approved())
	require.False(t, got.Signed)
}

// An unreachable hub allows only if its address has a pin: the environment can name a dead
// port.
func TestFallback_AllowNeedsPinnedAddress(t *testing.T) {
	t.Parallel()
	const dead = "http://127.0.0.1:1"
	pinned, another := otherHub.PinLineFor(dead), otherHub.PinLineFor("http://127.0.0.1:4000")
	for name, test := range map[string]struct {
		pins     []string
		hubs     []string
		env      string
		unsigned bool
		approved bool
	}{
		"no pin":                               {hubs: []string{dead}, approved: true},
		"no pin, environment":                  {env: dead, approved: true},
		"pinned":                               {pins: []string{pinned}, hubs: []string{dead}, approved: true},
		"pinned, environment":                  {pins: []string{pinned}, env: dead, approved: true},
		"another pin":                          {pins: []string{another}, hubs: []string{dead}},
		"another pin, environment":             {pins: []string{another}, env: dead},
		"unsigned by code":                     {pins: []string{another}, hubs: []string{dead}, unsigned: true, approved: true},
		"unsigned, address of the environment": {pins: []string{another}, env: dead, unsigned: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, agentclient.Options{
				Hubs: test.hubs, KnownHubs: knownHubs(t, test.pins...), Unsigned: test.unsigned, Env: environment(map[string]string{"HOOKBACK_URL": test.env}),
				OnUnreachable: agentclient.Allow, UnreachableAfter: time.Millisecond,
			}, agentclient.Timings{})
			d, err := c.AskPermission(testContext(t), "Go?")
			require.Equal(t, test.approved, d.Approved())
			require.Equal(t, test.approved, c.TrustsAddress())
			if test.approved {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, agentclient.ErrUnreachable)
			require.ErrorContains(t, err, "OnUnreachable is allow, but none of these addresses has a pin. This account trusts hub "+otherHub.KeyID())
			require.Contains(t, d.Guidance, "OnUnreachable is allow")
		})
	}
}

// environment returns a client's environment.
func environment(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestFirstContact(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fromEnv, key, pins bool
	}{
		"address in code":              {key: true, pins: true},
		"address from the environment": {key: true, fromEnv: true},
		"hub of an earlier version":    {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "new", "known_hubs")
			var contacts []agentclient.Pin
			c := &fixtureConfig{opts: agentclient.Options{KnownHubs: file, RememberHubs: true, OnFirstContact: func(p agentclient.Pin) { contacts = append(contacts, p) }}}
			if test.key {
				c.hub.Key = fakehub.NewKey()
			}
			b := setup(t, c)
			if test.fromEnv {
				c.opts.Hubs, c.opts.Env = nil, environment(map[string]string{"HOOKBACK_URL": b.hub.URL()})
				b.client = newClient(t, c.opts, c.timings)
			}
			got := b.answered(t, agentclient.Request{Question: "Go?"}, approval(), false)
			require.True(t, got.Approved())
			require.Equal(t, test.pins, got.Signed)
			if !test.pins {
				require.Empty(t, contacts)
				require.NoFileExists(t, file)
				return
			}
			require.Len(t, contacts, 1)
			require.Equal(t, b.hub.KeyID(), contacts[0].KeyID())
			require.Equal(t, b.hub.PinLine(), readFile(t, file))
			info, err := os.Stat(file)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

			other := setup(t, &fixtureConfig{hub: fakehub.Hub{Key: fakehub.NewKey()}, opts: agentclient.Options{KnownHubs: file}})
			got = other.answered(t, agentclient.Request{Question: "Go?"}, approval(), false)
			require.False(t, got.Approved(), "a second hub is not pinned")
			require.Equal(t, b.hub.PinLine(), readFile(t, file))
		})
	}
}

// A library does not write to the account. It pins the first hub for as long as it runs.
func TestFirstContact_WritesNothingByDefault(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "known_hubs")
	first := setup(t, &fixtureConfig{hub: fakehub.Hub{Key: fakehub.NewKey()}, opts: agentclient.Options{KnownHubs: file}})
	require.True(t, first.answered(t, agentclient.Request{Question: "Go?"}, approval(), false).Signed)
	trust, err := first.client.Trust()
	require.NoError(t, err)
	require.Len(t, trust.Pins(), 1)
	require.Equal(t, first.hub.KeyID(), trust.Pins()[0].KeyID())
	first.hub.Stop()
	first.hub.Rotate()
	require.NoError(t, first.hub.Start())
	require.True(t, first.answered(t, agentclient.Request{Question: "Go?"}, approval(), false).Signed, "the new key follows the pinned one")
	require.NoFileExists(t, file)
}

// A hub that serves a key which it does not hold gets no question.
func TestFirstContact_RequiresProof(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 10)
	server := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			asked <- struct{}{}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(sign.HubKey{KeyID: otherKeyID, PublicKey: otherHub.PublicKey()})
	})
	file := knownHubs(t)
	c := newClient(t, agentclient.Options{Hubs: []string{server}, KnownHubs: file, UnreachableAfter: time.Millisecond}, agentclient.Timings{})
	d, err := c.AskPermission(testContext(t), "Go?")
	require.NoError(t, err)
	require.Equal(t, agentclient.Unreachable, d.Outcome)
	require.Empty(t, asked)
	require.NoFileExists(t, file)
}

// A repeated question belongs to another agent if the hub reports a conflict of keys.
func TestAsk_KeyConflictIsRejected(t *testing.T) {
	t.Parallel()
	b := setupSigned(t, &fixtureConfig{
		hub: fakehub.Hub{Intercept: func(w http.ResponseWriter, r *http.Request) bool {
			fakehub.Refuse(w, schema.ErrKeyConflict)
			return r.Method == http.MethodPost
		}},
		opts: agentclient.Options{OnUnreachable: agentclient.Allow},
	})
	d, err := b.client.AskPermission(b.ctx, "Go?")
	require.ErrorIs(t, err, schema.ErrKeyConflict)
	require.Equal(t, agentclient.Rejected, d.Outcome)
}

// An agent that resumes with its key and secret asks the same question, whatever its new
// listener is.
func TestAsk_SecretMakesSameQuestion(t *testing.T) {
	t.Parallel()
	b := setupSigned(t, &fixtureConfig{})
	r := agentclient.Request{Question: "Go?", Secret: strings.Repeat("s", 32), Event: schema.Event{IdempotencyKey: "k", SessionID: "s"}}
	first, cancel := context.WithCancel(b.ctx)
	got := b.ask(first, r)
	q := b.waitForQuestion(t, 1)
	require.Equal(t, r.Secret, q.HumanInTheLoop.RequestSecret)
	require.Equal(t, schema.NonceOf(r.Secret), q.HumanInTheLoop.Nonce)
	cancel()
	require.Error(t, b.waitForResult(t, got).err)
	require.Equal(t, r.Secret, q.Withdrawal.RequestSecret)

	b = setupSigned(t, &fixtureConfig{timings: agentclient.Timings{PullDelay: time.Millisecond}})
	got = b.ask(b.ctx, r)
	q = b.waitForQuestion(t, 1)
	again := newClient(t, agentclient.Options{
		Hubs: []string{b.hub.URL()}, KnownHubs: knownHubs(t, b.hub.PinLine()),
	}, agentclient.Timings{PullDelay: time.Millisecond})
	q.Decide(q.Frame(approval()))
	require.True(t, b.waitForResult(t, got).Signed)
	d, err := again.Ask(b.ctx, r)
	require.NoError(t, err)
	require.True(t, d.Approved())
	require.True(t, d.Signed)
}

func TestAsk_SecretsAreUnique(t *testing.T) {
	t.Parallel()
	b := setupSigned(t, &fixtureConfig{})
	for n := range 2 {
		b.answered(t, agentclient.Request{Question: "Go?"}, approval(), false)
		require.Len(t, b.hub.Events(), n+1)
	}
	first, second := b.hub.Events()[0].HumanInTheLoop, b.hub.Events()[1].HumanInTheLoop
	require.NotEqual(t, first.RequestSecret, second.RequestSecret)
	require.NotEqual(t, first.Nonce, second.Nonce)
	require.GreaterOrEqual(t, len(first.RequestSecret), 32)
}

// FuzzSeal checks that no frame approves unless the pinned key signed an approval.
func FuzzSeal(f *testing.F) {
	hub := &fakehub.Hub{Key: fakehub.NewKey()}
	verify := agentclient.SealVerifier(f, hub.PinLineFor("http://127.0.0.1:1"))
	f.Add([]byte(`{"permission":true,"outcome":"approve"}`))
	f.Add([]byte(`{"permission":true,"seal":{"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[{"keyid":"` + hub.KeyID() + `","sig":""}]}}`))
	f.Add([]byte(`{"seal":null,"seal":{"payload":null}}`))
	f.Fuzz(func(t *testing.T, frame []byte) {
		if d := verify(frame); d.Approved() || d.Signed {
			t.Fatalf("%s approved", frame)
		}
	})
}
