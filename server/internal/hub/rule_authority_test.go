package hub

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

// TestARuleHoldsNoLongerThanItsMakersRight: a credential ends with its person, and what
// anyone could make on an open hub ends when that is locked; so does a rule.
func TestARuleHoldsNoLongerThanItsMakersRight(t *testing.T) {
	t.Parallel()
	role := func(role schema.Role) func(*testing.T, *bench, *clock) {
		return func(t *testing.T, b *bench, _ *clock) {
			_, err := b.People.ChangePerson(t.Context(), "grace", schema.PersonDraft{Role: role}, ada)
			require.NoError(t, err)
		}
	}
	remove := func(t *testing.T, b *bench, _ *clock) {
		require.NoError(t, b.People.RemovePerson(t.Context(), "grace", ada))
	}
	for name, c := range map[string]struct {
		by     string // empty: nobody signed in
		reach  string
		change func(*testing.T, *bench, *clock)
		holds  bool
	}{
		"nothing has changed": {"grace", schema.ReachEverywhere, func(*testing.T, *bench, *clock) {}, true},
		"less than it takes":  {"grace", schema.ReachAgent, role(schema.Operator), false},
		"a viewer by now":     {"grace", schema.ReachEverywhere, role(schema.Viewer), false},
		"gone":                {"grace", schema.ReachEverywhere, remove, false},
		"another of that name": {"grace", schema.ReachEverywhere, func(t *testing.T, b *bench, now *clock) {
			remove(t, b, now)
			now.pass(time.Second)
			_, _, err := b.People.AddPerson(t.Context(), schema.PersonDraft{Name: "grace", Role: schema.Admin}, ada)
			require.NoError(t, err)
		}, false},
		"an open hub": {"", schema.ReachEverywhere, func(*testing.T, *bench, *clock) {}, true},
		"locked since": {"", schema.ReachEverywhere, func(t *testing.T, b *bench, _ *clock) {
			require.NoError(t, b.People.Lock(t.Context(), true, ada))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := newClock()
			b := setup(t, now.in, withPeople(t))
			_, _, err := b.People.AddPerson(t.Context(), schema.PersonDraft{Name: "grace", Role: schema.Admin}, ada)
			require.NoError(t, err)
			by := Caller{}
			if c.by != "" {
				by.Who = auth.Identity{Name: c.by, Role: schema.Admin, Via: "session", ID: "s_3"}
			}
			d := like(b.post(runs("s", "npm test")).ID, schema.ThenAllow)
			d.Reach = c.reach
			_, err = b.MakeRule(t.Context(), d, by)
			require.NoError(t, err)
			require.Equal(t, "approve by rule 1", b.decided(runs("s2", "npm test")))
			c.change(t, b, now)
			want := "pending"
			if c.holds {
				want = "approve by rule 1"
			}
			saved := b.post(runs("s3", "npm test"))
			require.Equal(t, want, b.decided(runs("s4", "npm test")))
			if !c.holds {
				list, err := b.Store.Rules(t.Context(), 1)
				require.NoError(t, err)
				require.NotZero(t, list[0].RevokedAt, "and everybody sees it")
				require.Equal(t, hubName, list[0].RevokedBy)
				return
			}
			by2 := b.status(saved.ID).RespondedBy
			require.Equal(t, c.by != "", by2.Verified, "a rule is known no better than who made it")
		})
	}
}

// TestWhoIsGoneTakesTheirVoteAlong, and another of their name has neither it nor the seat.
func TestWhoIsGoneTakesTheirVoteAlong(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(*bench) error{
		"gone": func(b *bench) error { return b.People.RemovePerson(b.t.Context(), "grace", ada) },
		"a viewer by now": func(b *bench) error {
			_, err := b.People.ChangePerson(b.t.Context(), "grace", schema.PersonDraft{Role: schema.Viewer}, ada)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := newClock()
			b := setup(t, now.in)
			b.team("ada", "grace", "linus")
			id, _ := b.ask(ofThree)
			b.mustVote(id, "grace", yes())
			require.NoError(t, away(b))
			st := b.mustVote(id, "linus", yes())
			require.Equal(t, schema.Pending, st.Status)
			require.Equal(t, []string{"linus approve"}, names(st.Votes))
			require.ElementsMatch(t, []string{"ada", "grace"}, st.Awaiting)
			require.Equal(t, schema.Approve, b.mustVote(id, "ada", yes()).Outcome)
		})
	}
}

func TestWhoIsSentAwayTakesTheirHeldAnswerAlong(t *testing.T) {
	t.Parallel()
	now := newClock()
	b := setup(t, now.in)
	b.team("ada", "grace")
	kept, _ := b.ask(mayI)
	lost, _ := b.ask(mayI)
	held := yes()
	held.HoldMS = 5000
	for id, name := range map[schema.EventID]string{kept: "ada", lost: "grace"} {
		require.NotNil(t, b.mustVote(id, name, held).Held)
	}
	require.NoError(t, b.People.RemovePerson(t.Context(), "grace", ada))
	now.pass(6 * time.Second)
	require.NoError(t, b.expire(t.Context(), kept))
	require.NoError(t, b.expire(t.Context(), lost))
	require.Equal(t, schema.Approve, b.status(kept).Outcome)
	st := b.status(lost)
	require.Equal(t, schema.Pending, st.Status)
	require.Nil(t, st.Held, "others can answer it")
}

func TestAnotherOfTheSameNameHasNoSeat(t *testing.T) {
	t.Parallel()
	now := newClock()
	b := setup(t, now.in)
	b.team("ada", "grace", "linus")
	id, _ := b.ask(ofThree)
	alone, _ := b.ask(`{"question":"Deploy?","type":"permission","recipients":{"mode":"selected_members","members":["grace"]}}`)
	require.NoError(t, b.People.RemovePerson(t.Context(), "grace", ada))
	now.pass(time.Second)
	_, _, err := b.People.AddPerson(t.Context(), schema.PersonDraft{Name: "grace"}, ada)
	require.NoError(t, err)
	for _, one := range []schema.EventID{id, alone} {
		_, err = b.votes(one, "grace", yes())
		require.ErrorIs(t, err, schema.ErrNotAllowed)
	}
	b.mustVote(id, "linus", yes())
	later, _ := b.ask(ofThree)
	b.mustVote(later, "grace", yes())
}

// TestWhoAskedIsNoOtherInOtherLetters: who is removed and comes back as GRACE asked it all
// the same.
func TestWhoAskedIsNoOtherInOtherLetters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("ada", "Grace")
	saved, err := b.Ingest(t.Context(), []byte(runs("s", "npm test")), Caller{Who: auth.Identity{Name: "grace", Role: schema.Operator, Via: "token", ID: "t_1"}})
	require.NoError(t, err)
	_, err = b.votes(saved.ID, "Grace", yes())
	require.ErrorIs(t, err, schema.ErrSelfApproval)
}
