package rules_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/rules"
)

func storedRule(t testing.TB, id int64, d *schema.RuleDraft, at *rules.Call) rules.StoredRule {
	r, err := rules.Compile(d, at, "ada", now)
	require.NoError(t, err)
	r.ID = id
	return rules.StoredRule{Rule: *r, Since: r.CreatedAt}
}

func TestDecide_Precedence(t *testing.T) {
	t.Parallel()
	at := bash("npm test")
	starts := is("command", "starts_with", `"npm"`)
	wideAllow := storedRule(t, 1, draft("allow", "when", "everywhere", starts), at)
	narrowAllow := storedRule(t, 2, draft("allow", "call", "session"), at)
	wideDeny := storedRule(t, 3, draft("deny", "tool", "everywhere"), at)
	narrowDeny := storedRule(t, 4, draft("deny", "when", "session", starts), at)
	twoConditions := storedRule(t, 5, draft("allow", "when", "everywhere", starts, is("command", "contains", `"test"`)), at)
	sameAgain := storedRule(t, 6, draft("allow", "call", "session"), at)
	anyDirectory := storedRule(t, 7, draft("allow", "arguments", "session"), at)
	for _, c := range []struct {
		name string
		set  []rules.StoredRule
		want int64
	}{
		{"nothing", nil, 0},
		{"wide and narrow", []rules.StoredRule{wideAllow, narrowAllow}, 2},
		{"reversed order", []rules.StoredRule{narrowAllow, wideAllow}, 2},
		{"a wide deny and a narrow allow", []rules.StoredRule{narrowAllow, wideDeny}, 3},
		{"two denies", []rules.StoredRule{wideDeny, narrowAllow, narrowDeny, wideAllow}, 4},
		{"more conditions", []rules.StoredRule{wideAllow, twoConditions}, 5},
		{"the older of equal rules", []rules.StoredRule{sameAgain, narrowAllow}, 2},
		{"this call before these arguments", []rules.StoredRule{anyDirectory, sameAgain}, 6},
		{"these arguments before conditions", []rules.StoredRule{twoConditions, anyDirectory}, 7},
	} {
		set, err := rules.NewSet(c.set)
		require.NoError(t, err)
		require.Equal(t, len(c.set), set.Len())
		var got int64
		if r := set.Decide(bash("npm test"), now); r != nil {
			got = r.ID
		}
		require.Equal(t, c.want, got, c.name)
	}
}

// TestDecide_IndeterminateDenyBlocksAllow: a person decides a call that a deny may cover.
func TestDecide_IndeterminateDenyBlocksAllow(t *testing.T) {
	t.Parallel()
	deny := storedRule(t, 1, draft("deny", "when", "everywhere", is("path", "under", `"/etc"`)), call("Write", `{"path":"/etc/x"}`))
	allow := storedRule(t, 2, draft("allow", "tool", "everywhere"), call("Write", `{"path":"/home/dev/shop/x"}`))
	set, err := rules.NewSet([]rules.StoredRule{deny, allow})
	require.NoError(t, err)
	require.Equal(t, int64(2), set.Decide(call("Write", `{"path":"/home/dev/shop/y"}`), now).ID)
	require.Equal(t, int64(1), set.Decide(call("Write", `{"path":"/etc/y"}`), now).ID)
	require.Nil(t, set.Decide(call("Write", `{"path":"~/y"}`), now), "the path can't be resolved")
	require.Nil(t, set.Decide(call("Write", `{"path":"/home/dev/shop/y","path":"/etc/y"}`), now))
	exact := storedRule(t, 3, draft("allow", "call", "everywhere"), call("Write", `{"path":"~/y"}`))
	set, err = rules.NewSet([]rules.StoredRule{deny, allow, exact})
	require.NoError(t, err)
	require.Equal(t, int64(3), set.Decide(call("Write", `{"path":"~/y"}`), now).ID, "a person allowed exactly this call")

	broken := deny
	broken.When = []schema.Condition{is("path", "beside", `"/etc"`)}
	set, err = rules.NewSet([]rules.StoredRule{broken, allow})
	require.Error(t, err)
	require.Nil(t, set.Decide(call("Write", `{"path":"/home/dev/shop/y"}`), now), "the deny that does not compile may cover the call")
}

func TestDecide_RuleLifetime(t *testing.T) {
	t.Parallel()
	quarter, ever := int64(900), int64(0)
	d := draft("allow", "call", "agent")
	d.TTLSeconds = &quarter
	short := storedRule(t, 1, d, bash("npm test"))
	d = draft("allow", "call", "agent")
	d.TTLSeconds = &ever
	always := storedRule(t, 1, d, bash("npm test"))
	for _, c := range []struct {
		after        schema.Millis // since it was made
		short, alway bool
	}{
		{0, true, true}, {899_999, true, true}, {900_000, false, true}, {1e9, false, true},
		{-1000, true, true},    // within the clock skew
		{-60_000, false, true}, // the clock was set back, so the rule's age is unknown
	} {
		for want, e := range map[*bool]rules.StoredRule{&c.short: short, &c.alway: always} {
			set, err := rules.NewSet([]rules.StoredRule{e})
			require.NoError(t, err)
			require.Equal(t, *want, set.Decide(bash("npm test"), now+c.after) != nil, "%s after %v", e.Text, c.after)
		}
	}
	early := bash("npm test")
	early.ID, always.After = 7, 7
	set, err := rules.NewSet([]rules.StoredRule{always})
	require.NoError(t, err)
	require.Nil(t, set.Decide(early, now), "asked before the rule was made")
	early.ID = 8
	require.NotNil(t, set.Decide(early, now))
}

// thousand returns a set of 1000 rules for the same tool and all agents, none of which covers
// the call. This is the worst case.
func thousand(b testing.TB) *rules.Set {
	var all []rules.StoredRule
	for i := range 1000 {
		word := fmt.Sprintf("word%d", i)
		at := bash(word + " x")
		all = append(all, storedRule(b, int64(i+1), draft("allow", "when", "everywhere", is("command", "starts_with", `"`+word+`"`)), at))
	}
	set, err := rules.NewSet(all)
	require.NoError(b, err)
	return set
}

func BenchmarkDecide(b *testing.B) {
	for name, set := range map[string]*rules.Set{"none": nil, "1000": thousand(b)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if set.Decide(bash("npm test -- --bail src/checkout"), now) != nil {
					b.Fatal("no rule covers it")
				}
			}
		})
	}
}

func TestDecide_Consequence(t *testing.T) {
	t.Parallel()
	zero, two := int64(0), int64(2)
	at := bash("rm x")
	at.Consequence = &schema.Consequence{Unrecoverable: &zero}
	allow := []rules.StoredRule{storedRule(t, 1, draft("allow", "when", "everywhere",
		is("command", "equals", `"rm x"`), is("consequence.unrecoverable", "at_most", "0")), at)}
	at.Consequence = &schema.Consequence{Unrecoverable: &two}
	deny := []rules.StoredRule{storedRule(t, 2, draft("deny", "when", "everywhere", is("consequence.unrecoverable", "at_least", "1")), at)}
	for _, c := range []struct {
		name           string
		consequence    *schema.Consequence
		allows, denies bool
	}{
		{"nothing is lost", &schema.Consequence{Unrecoverable: &zero}, true, false},
		{"files are lost", &schema.Consequence{Unrecoverable: &two}, false, true},
		{"at least none", &schema.Consequence{Unrecoverable: &zero, Partial: true}, false, false},
		{"at least two", &schema.Consequence{Unrecoverable: &two, Partial: true}, false, true},
		{"unknown", nil, false, false},
	} {
		for name, test := range map[string]struct {
			rules []rules.StoredRule
			want  bool
		}{"allow": {allow, c.allows}, "deny": {deny, c.denies}} {
			set, err := rules.NewSet(test.rules)
			require.NoError(t, err)
			call := bash("rm x")
			call.Consequence = c.consequence
			require.Equal(t, test.want, set.Decide(call, now) != nil, "%s: %s", c.name, name)
		}
	}
	_, err := rules.Compile(draft("deny", "when", "everywhere", is("consequence.files", "contains", `"1"`)), at, "ada", now)
	require.ErrorContains(t, err, "must be equals, at_least or at_most")
}
