package hub

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/people"
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
				by.Who = people.Who{Name: c.by, Role: schema.Admin, Via: "session", ID: "s_3"}
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
