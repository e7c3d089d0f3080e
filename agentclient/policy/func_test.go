package policy_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/policy"
)

func TestPolicyFunc(t *testing.T) {
	t.Parallel()
	deny := mustParsePolicy(t, singleRulePolicy("*", "deny"))
	allow := mustParsePolicy(t, singleRulePolicy("*", "allow"))
	big := policy.Func(func(c policy.Call) bool { return len(c.Arguments) > 20 })
	for name, test := range map[string]struct {
		policy policy.Policy
		call   policy.Call
		want   policy.Effect
	}{
		"always":              {policy.Always(), aliasedCall("x", ``), "ask"},
		"never":               {policy.Never(), aliasedCall("x", ``), ""},
		"a func":              {big, aliasedCall("x", `{"a": 1}`), ""},
		"a func that asks":    {big, aliasedCall("x", `{"a": "0123456789abcdef"}`), "ask"},
		"its name":            {policy.Tools("pay", "mcp__db__*"), aliasedCall("pay", ``), "ask"},
		"its glob":            {policy.Tools("pay", "mcp__db__*"), aliasedCall("mcp__db__drop", ``), "ask"},
		"its name in capital": {policy.Tools("pay"), aliasedCall("Pay", ``), "ask"},
		"its alias":           {policy.Tools("Bash"), policy.Call{Name: "shell", Alias: "Bash"}, "ask"},
		"another name":        {policy.Tools("pay"), aliasedCall("payload", ``), ""},
		"no alias":            {policy.Tools(""), policy.Call{Name: "x"}, ""},
		"above":               {policy.Above("amount", 10000), aliasedCall("x", `{"amount": 10000.01}`), "ask"},
		"at":                  {policy.Above("amount", 10000), aliasedCall("x", `{"amount": 10000}`), ""},
		"above in a list":     {policy.Above("items.price", 5), aliasedCall("x", `{"items": [{"price": 1}, {"price": 6}]}`), "ask"},
		"absent":              {policy.Above("amount", 10000), aliasedCall("x", `{}`), ""},
		"null":                {policy.Above("amount", 10000), aliasedCall("x", `{"amount": null}`), ""},
		"a text":              {policy.Above("amount", 10000), aliasedCall("x", `{"amount": "1"}`), "ask"},
		"huge":                {policy.Above("amount", 10000), aliasedCall("x", `{"amount": 1e999}`), "ask"},
		"in another case":     {policy.Above("amount", 10000), aliasedCall("x", `{"Amount": 1}`), "ask"},
		"twice":               {policy.Above("amount", 10000), aliasedCall("x", `{"amount": 1, "amount": 2}`), "ask"},
		"unreadable":          {policy.Above("amount", 10000), aliasedCall("x", `{"amount": `), "ask"},
		"no limit":            {policy.Above("amount", math.NaN()), aliasedCall("x", `{"amount": 1}`), "ask"},
		"below":               {policy.Below("balance", 0), aliasedCall("x", `{"balance": -0.01}`), "ask"},
		"not below":           {policy.Below("balance", 0), aliasedCall("x", `{"balance": 0}`), ""},
		"below, a text":       {policy.Below("balance", 0), aliasedCall("x", `{"balance": "5"}`), "ask"},
		"any of none":         {policy.Any(), aliasedCall("x", ``), ""},
		"any":                 {policy.Any(policy.Never(), policy.Tools("x")), aliasedCall("x", ``), "ask"},
		"any is strict":       {policy.Any(allow, policy.Always(), deny), aliasedCall("x", ``), "deny"},
		"any asks":            {policy.Any(allow, policy.Always()), aliasedCall("x", ``), "ask"},
		"any allows":          {policy.Any(allow, policy.Never()), aliasedCall("x", ``), "allow"},
		"all of none":         {policy.All(), aliasedCall("x", ``), "ask"},
		"all":                 {policy.All(policy.Tools("x"), policy.Above("a", 1)), aliasedCall("x", `{"a": 2}`), "ask"},
		"not all":             {policy.All(policy.Tools("x"), policy.Above("a", 1)), aliasedCall("x", `{"a": 1}`), ""},
		"all are strict":      {policy.All(policy.Always(), allow), aliasedCall("x", ``), "ask"},
		"all deny":            {policy.All(policy.Always(), deny), aliasedCall("x", ``), "deny"},
		"unknown effect":      {policy.Any(fixedPolicy("perhaps"), allow), aliasedCall("x", ``), "perhaps"},
	} {
		require.Equal(t, test.want, test.policy.Evaluate(test.call).Effect, name)
	}
}

// fixedPolicy is a policy that always returns the same effect.
type fixedPolicy string

func (f fixedPolicy) Evaluate(policy.Call) policy.Result {
	return policy.Result{Effect: policy.Effect(f)}
}
