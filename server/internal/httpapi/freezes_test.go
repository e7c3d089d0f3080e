package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/safety"
	"github.com/hookback/hookback/server/internal/store"
)

func TestSafety_AdminSetsLimits(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	var s control.Safety
	r.expectOK(&s, "GET "+control.PathSafety, "", ada.headers()...)
	require.Equal(t, control.Safety{Freezes: []control.Freeze{}}, s, "off by default")

	want := control.SafetySettings{EqualFailures: 5, SpendUSD: 12.5, SpendMinutes: 60}
	r.expectOK(&s, "PUT "+control.PathSafety, `{"equalFailures":5,"spendUsd":12.5,"spendMinutes":60}`, ada.headers()...)
	require.Equal(t, control.Safety{Settings: want, Active: want, Freezes: []control.Freeze{}}, s)
	_, token := r.createToken(ada, `{"name":"laptop","person":"ada"}`)
	r.expectOK(&s, "GET "+control.PathSafety, "", token...)
	require.Equal(t, want, s.Settings)
	r.expectOK(&s, "PUT "+control.PathSafety, `{"equalFailures":2}`, token...)
	require.Equal(t, control.SafetySettings{EqualFailures: 2}, s.Active, "a missing member turns its rule off")

	require.NoError(t, r.Hub.FreezeSession(t.Context(), control.Freeze{SourceApp: "demo", SessionID: "s1", Reason: "Spent", Rule: control.RuleSpend, CostUSD: 3}))
	_, _, err := r.Hub.Freeze(t.Context(), &control.FreezeDraft{Scope: control.FreezeApp, SourceApp: "other"}, hub.Caller{})
	require.NoError(t, err)
	r.expectOK(&s, "GET "+control.PathSafety, "", ada.headers()...)
	require.Len(t, s.Freezes, 1, "a person's freeze is not automatic")
	require.Equal(t, control.RuleSpend, s.Freezes[0].Rule)

	var changes []control.SafetySettings
	raw, err := r.store.Ledger(t.Context(), store.LedgerPage{Oldest: true, Limit: 100})
	require.NoError(t, err)
	for _, text := range raw {
		var e sign.LedgerEntry
		require.NoError(t, json.Unmarshal(text, &e))
		if e.Action == "safety.changed" {
			require.Equal(t, "ada", e.Actor)
			var change control.SafetySettings
			require.NoError(t, json.Unmarshal(e.Data, &change))
			changes = append(changes, change)
		}
	}
	require.Equal(t, []control.SafetySettings{want, {EqualFailures: 2}}, changes)
}

func TestSafety_RejectsInvalidLimits(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	for body, field := range map[string]string{
		`{"equalFailures":1}`:                     "equalFailures",
		`{"equalFailures":-5}`:                    "equalFailures",
		`{"equalFailures":1001}`:                  "equalFailures",
		`{"equalFailures":"5"}`:                   "equalFailures",
		`{"equalFailures":2.5}`:                   "equalFailures",
		`{"spendUsd":-1,"spendMinutes":60}`:       "spendUsd",
		`{"spendUsd":0.001,"spendMinutes":60}`:    "spendUsd",
		`{"spendUsd":1e7,"spendMinutes":60}`:      "spendUsd",
		`{"spendUsd":1e999,"spendMinutes":60}`:    "spendUsd",
		`{"spendUsd":10}`:                         "spendMinutes",
		`{"spendUsd":10,"spendMinutes":14}`:       "spendMinutes",
		`{"spendUsd":10,"spendMinutes":1441}`:     "spendMinutes",
		`{"spendMinutes":-60,"equalFailures":5}`:  "spendMinutes",
		`{"spendMinutes":9e18,"equalFailures":5}`: "spendMinutes",
		`[]`: "",
		`{`:  "",
	} {
		require.Equal(t, field, r.expectProblem("invalid", "PUT "+control.PathSafety, body, ada.headers()...).Field, body)
	}
	var s control.Safety
	r.expectOK(&s, "GET "+control.PathSafety, "", ada.headers()...)
	require.Zero(t, s.Settings)
	vera := r.addPerson(ada, `{"name":"vera","role":"viewer"}`)
	oscar := r.addPerson(ada, `{"name":"oscar"}`)
	_, agent := r.createToken(ada, `{"name":"build"}`)
	for _, headers := range [][]string{vera.headers(), oscar.headers(), agent} {
		r.expectOK(nil, "GET "+control.PathSafety, "", headers...)
		r.expectProblem("not_allowed", "PUT "+control.PathSafety, `{"equalFailures":5}`, headers...)
	}
	r.expectProblem("sign_in", "PUT "+control.PathSafety, `{"equalFailures":5}`, "Content-Type", "application/json")
	r.expectProblem("unsupported_type", "PUT "+control.PathSafety, `{"equalFailures":5}`, append(ada.headers()[:4:4], "Content-Type", "text/plain", "Sec-Fetch-Site", "same-origin")...)
	r.expectProblem("too_large", "PUT "+control.PathSafety, `{"equalFailures":5,"note":"`+strings.Repeat("x", schema.MaxBody)+`"}`, ada.headers()...)
	r.expectProblem("forbidden", "PUT "+control.PathSafety, `{"equalFailures":5}`, append(ada.headers(), "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")...)
}

func TestSafety_FlagOverrulesSetting(t *testing.T) {
	t.Parallel()
	r := setup(t, func(cfg *Config) {
		var err error
		cfg.Safety, err = safety.OpenLimits(t.Context(), cfg.Store.(store.Store), 3)
		require.NoError(t, err)
	})
	ada := r.owner("ada")
	var s control.Safety
	r.expectOK(&s, "PUT "+control.PathSafety, `{"equalFailures":7,"spendUsd":1,"spendMinutes":15}`, ada.headers()...)
	require.Equal(t, 7, s.Settings.EqualFailures)
	require.Equal(t, control.SafetySettings{EqualFailures: 3, SpendUSD: 1, SpendMinutes: 15}, s.Active)
	require.Equal(t, "-freeze-after 3", s.Flag)
}
