package hub

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/question"
)

// createAnonymousRule stores a rule of a caller without credentials, as earlier versions of
// the hub allowed.
func (h *testHub) createAnonymousRule(d *schema.RuleDraft) {
	rule, _, err := h.compileDraft(h.t.Context(), d, Caller{})
	require.NoError(h.t, err)
	_, err = h.Store.CreateRule(h.t.Context(), *rule)
	require.NoError(h.t, err)
	require.NoError(h.t, h.loadRules(h.t.Context()))
}

// TestRuleAuthority_FollowsCreator: a rule stays active only while its creator may create
// it. A rule of an unauthenticated caller ends when the hub is locked.
func TestRuleAuthority_FollowsCreator(t *testing.T) {
	t.Parallel()
	role := func(role schema.Role) func(*testing.T, *testHub, *fakeClock) {
		return func(t *testing.T, h *testHub, _ *fakeClock) {
			_, err := h.People.ChangePerson(t.Context(), "grace", schema.PersonDraft{Role: role}, ada)
			require.NoError(t, err)
		}
	}
	remove := func(t *testing.T, h *testHub, _ *fakeClock) {
		require.NoError(t, h.People.RemovePerson(t.Context(), "grace", ada))
	}
	for name, c := range map[string]struct {
		by     string // empty: not signed in
		reach  string
		change func(*testing.T, *testHub, *fakeClock)
		holds  bool
	}{
		"nothing has changed": {"grace", schema.ReachEverywhere, func(*testing.T, *testHub, *fakeClock) {}, true},
		"role too low":        {"grace", schema.ReachAgent, role(schema.Operator), false},
		"now a viewer":        {"grace", schema.ReachEverywhere, role(schema.Viewer), false},
		"removed":             {"grace", schema.ReachEverywhere, remove, false},
		"reused name": {"grace", schema.ReachEverywhere, func(t *testing.T, h *testHub, now *fakeClock) {
			remove(t, h, now)
			now.advance(time.Second)
			_, _, err := h.People.AddPerson(t.Context(), schema.PersonDraft{Name: "grace", Role: schema.Admin}, ada)
			require.NoError(t, err)
		}, false},
		"an open hub": {"", schema.ReachEverywhere, func(*testing.T, *testHub, *fakeClock) {}, true},
		"locked hub": {"", schema.ReachEverywhere, func(t *testing.T, h *testHub, _ *fakeClock) {
			require.NoError(t, h.People.Lock(t.Context(), true, ada))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := newFakeClock()
			h := newTestHub(t, now.configure, withPeople(t))
			_, _, err := h.People.AddPerson(t.Context(), schema.PersonDraft{Name: "grace", Role: schema.Admin}, ada)
			require.NoError(t, err)
			by := Caller{}
			if c.by != "" {
				by.Identity = auth.Identity{Name: c.by, Role: schema.Admin, Via: "session", ID: "s_3"}
			}
			d := newRuleDraft(h.post(bashRequest("s", "npm test")).ID, schema.ThenAllow)
			d.Reach = c.reach
			if c.by != "" {
				_, err = h.CreateRule(t.Context(), d, by)
			} else {
				h.createAnonymousRule(d)
			}
			require.NoError(t, err)
			require.Equal(t, "approve by rule 1", h.postedOutcome(bashRequest("s2", "npm test")))
			c.change(t, h, now)
			want := "pending"
			if c.holds {
				want = "approve by rule 1"
			}
			saved := h.post(bashRequest("s3", "npm test"))
			require.Equal(t, want, h.postedOutcome(bashRequest("s4", "npm test")))
			if !c.holds {
				list, err := h.Store.Rules(t.Context(), 1)
				require.NoError(t, err)
				require.NotZero(t, list[0].RevokedAt, "the rule is revoked visibly")
				require.Equal(t, question.HubActor, list[0].RevokedBy)
				return
			}
			by2 := h.status(saved.ID).RespondedBy
			require.Equal(t, c.by != "", by2.Verified, "a rule is as verified as its creator")
		})
	}
}

// TestVotes_RemovedVoterIsDropped: the vote of a person who may no longer vote does not count.
func TestVotes_RemovedVoterIsDropped(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(*testHub) error{
		"removed": func(h *testHub) error { return h.People.RemovePerson(h.t.Context(), "grace", ada) },
		"now a viewer": func(h *testHub) error {
			_, err := h.People.ChangePerson(h.t.Context(), "grace", schema.PersonDraft{Role: schema.Viewer}, ada)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := newFakeClock()
			h := newTestHub(t, now.configure)
			h.setPeople("ada", "grace", "linus")
			id, _ := h.ask(twoOfThree)
			h.mustVote(id, "grace", approval())
			require.NoError(t, away(h))
			st := h.mustVote(id, "linus", approval())
			require.Equal(t, schema.Pending, st.Status)
			require.Equal(t, []string{"linus approve"}, voteSummaries(st.Votes))
			require.ElementsMatch(t, []string{"ada", "grace"}, st.Awaiting)
			require.Equal(t, schema.Approve, h.mustVote(id, "ada", approval()).Outcome)
		})
	}
}

func TestUndoWindow_RemovedPersonIsDropped(t *testing.T) {
	t.Parallel()
	now := newFakeClock()
	h := newTestHub(t, now.configure)
	h.setPeople("ada", "grace")
	kept, _ := h.ask(callbackQuestion)
	lost, _ := h.ask(callbackQuestion)
	held := approval()
	held.HoldMS = 5000
	for id, name := range map[schema.EventID]string{kept: "ada", lost: "grace"} {
		require.NotNil(t, h.mustVote(id, name, held).Held)
	}
	require.NoError(t, h.People.RemovePerson(t.Context(), "grace", ada))
	now.advance(6 * time.Second)
	require.NoError(t, h.expire(t.Context(), kept))
	require.NoError(t, h.expire(t.Context(), lost))
	require.Equal(t, schema.Approve, h.status(kept).Outcome)
	st := h.status(lost)
	require.Equal(t, schema.Pending, st.Status)
	require.Nil(t, st.Held, "others can answer the question")
}

func TestVotes_ReusedNameHasNoVote(t *testing.T) {
	t.Parallel()
	now := newFakeClock()
	h := newTestHub(t, now.configure)
	h.setPeople("ada", "grace", "linus")
	id, _ := h.ask(twoOfThree)
	alone, _ := h.ask(`{"question":"Deploy?","type":"permission","recipients":{"mode":"selected_members","members":["grace"]}}`)
	require.NoError(t, h.People.RemovePerson(t.Context(), "grace", ada))
	now.advance(time.Second)
	_, _, err := h.People.AddPerson(t.Context(), schema.PersonDraft{Name: "grace"}, ada)
	require.NoError(t, err)
	for _, one := range []schema.EventID{id, alone} {
		_, err = h.vote(one, "grace", approval())
		require.ErrorIs(t, err, schema.ErrNotAllowed)
	}
	h.mustVote(id, "linus", approval())
	later, _ := h.ask(twoOfThree)
	h.mustVote(later, "grace", approval())
}

// TestVotes_LaterAccountHasNoVote: an admin cannot reach a quorum alone by adding accounts
// after the question was asked.
func TestVotes_LaterAccountHasNoVote(t *testing.T) {
	t.Parallel()
	now := newFakeClock()
	h := newTestHub(t, now.configure)
	h.setPeople("ada", "grace")
	const everyone = `{"question":"Deploy?","type":"permission","requiredApprovals":2,"recipients":{"mode":"anyone"}}`
	id, _ := h.ask(everyone)
	now.advance(time.Second)
	_, _, err := h.People.AddPerson(t.Context(), schema.PersonDraft{Name: "mallory"}, ada)
	require.NoError(t, err)
	h.mustVote(id, "ada", approval())
	_, err = h.vote(id, "mallory", approval())
	require.ErrorIs(t, err, schema.ErrNotAllowed)
	require.Equal(t, schema.Pending, h.status(id).Status)
	h.mustVote(id, "grace", approval())
	require.Equal(t, schema.Approve, h.status(id).Outcome)
	later, _ := h.ask(everyone)
	h.mustVote(later, "mallory", approval())
}

// TestRequester_MatchesIgnoringCase: a requester cannot answer their own question by
// returning under the same name in another case.
func TestRequester_MatchesIgnoringCase(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "Grace")
	saved, err := h.Ingest(t.Context(), []byte(bashRequest("s", "npm test")), Caller{Identity: auth.Identity{Name: "grace", Role: schema.Operator, Via: "token", ID: "t_1"}})
	require.NoError(t, err)
	_, err = h.vote(saved.ID, "Grace", approval())
	require.ErrorIs(t, err, schema.ErrSelfApproval)
}
