package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/store"
)

func TestRequestDefaults_AdminSetsThem(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	bob := r.addPerson(ada, `{"name":"bob"}`)
	_, token := r.createToken(ada, `{"name":"build"}`)
	var s control.RequestDefaults
	r.expectOK(&s, "GET "+control.PathRequestDefaults, "", ada.headers()...)
	require.Empty(t, s.Defaults)
	const wanted = `{"defaults":[{"kind":"permission","risk":"high","timeoutSeconds":600,"recipients":{"mode":"owner"}},{"timeoutSeconds":0}]}`
	r.expectOK(&s, "PUT "+control.PathRequestDefaults, wanted, ada.headers()...)
	r.expectOK(&s, "GET "+control.PathRequestDefaults, "", ada.headers()...)
	again, err := json.Marshal(s)
	require.NoError(t, err)
	require.JSONEq(t, wanted, string(again))
	for _, headers := range [][]string{bob.headers(), token} {
		r.expectOK(nil, "GET "+control.PathRequestDefaults, "", headers...)
	}
	r.expectProblem("not_allowed", "PUT "+control.PathRequestDefaults, wanted, bob.headers()...)
	r.expectProblem("not_allowed", "PUT "+control.PathRequestDefaults, wanted, token...)
	r.expectProblem("sign_in", "PUT "+control.PathRequestDefaults, wanted, "Content-Type", "application/json")

	entries, err := r.store.Ledger(t.Context(), store.LedgerPage{Limit: 100, Oldest: true})
	require.NoError(t, err)
	var changes []string
	for _, raw := range entries {
		var e sign.LedgerEntry
		require.NoError(t, json.Unmarshal(raw, &e))
		if e.Action == "requests.changed" {
			changes = append(changes, e.Actor+" "+string(e.Data))
		}
	}
	require.Len(t, changes, 1)
	require.True(t, strings.HasPrefix(changes[0], "ada "))
}

func TestRequestDefaults_RejectInvalidSettings(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	many := strings.Repeat(`{"timeoutSeconds":60},`, control.MaxRequestDefaults)
	for body, field := range map[string]string{
		`{}`:                "defaults",
		`{"defaults":null}`: "defaults",
		`[]`:                "",
		`{"defaults":[{"timeoutSeconds":60}],"more":1}`:                                                           "",
		`{"defaults":[]} {}`:                                                                                      "",
		`{"defaults":[` + many + `{"timeoutSeconds":60}]}`:                                                        "defaults",
		`{"defaults":[{"kind":"permission"}]}`:                                                                    "defaults.0.timeoutSeconds",
		`{"defaults":[{"timeoutSeconds":60},{"timeoutSeconds":9}]}`:                                               "defaults.1.timeoutSeconds",
		`{"defaults":[{"timeoutSeconds":-1}]}`:                                                                    "defaults.0.timeoutSeconds",
		`{"defaults":[{"timeoutSeconds":604801}]}`:                                                                "defaults.0.timeoutSeconds",
		`{"defaults":[{"timeoutSeconds":1.5}]}`:                                                                   "",
		`{"defaults":[{"timeout":60}]}`:                                                                           "",
		`{"defaults":[{"kind":"other","timeoutSeconds":60}]}`:                                                     "defaults.0.kind",
		`{"defaults":[{"risk":"none","timeoutSeconds":60}]}`:                                                      "defaults.0.risk",
		`{"defaults":[{"requiredApprovals":1}]}`:                                                                  "defaults.0.requiredApprovals",
		`{"defaults":[{"requiredApprovals":-2}]}`:                                                                 "defaults.0.requiredApprovals",
		`{"defaults":[{"requiredApprovals":21}]}`:                                                                 "defaults.0.requiredApprovals",
		`{"defaults":[{"kind":"question","requiredApprovals":2}]}`:                                                "defaults.0.requiredApprovals",
		`{"defaults":[{"requiredApprovals":2,"recipients":{"mode":"owner"}}]}`:                                    "defaults.0.requiredApprovals",
		`{"defaults":[{"requiredApprovals":2,"recipients":{"mode":"selected_members","members":["ada"]}}]}`:       "defaults.0.requiredApprovals",
		`{"defaults":[{"requiredApprovals":2,"recipients":{"mode":"selected_members","members":["ada","ada"]}}]}`: "defaults.0.requiredApprovals",
		`{"defaults":[{"recipients":{}}]}`:                                                                        "defaults.0.recipients.mode",
		`{"defaults":[{"recipients":{"mode":"everyone"}}]}`:                                                       "defaults.0.recipients.mode",
		`{"defaults":[{"recipients":{"mode":"owner","members":["ada"]}}]}`:                                        "defaults.0.recipients.members",
		`{"defaults":[{"recipients":{"mode":"selected_members"}}]}`:                                               "defaults.0.recipients.members",
		`{"defaults":[{"recipients":{"mode":"selected_members","members":["mallory"]}}]}`:                         "defaults.0.recipients.members",
		fmt.Sprintf(`{"defaults":[{"recipients":{"mode":"selected_members","members":["ada"%s]}}]}`, strings.Repeat(`,"x"`, control.MaxDefaultRecipients)): "defaults.0.recipients.members",
		`{"defaults":[{"recipients":{"mode":"owner","who":"ada"}}]}`:                                                                                       "defaults.0.recipients",
	} {
		require.Equal(t, field, r.expectProblem("invalid", "PUT "+control.PathRequestDefaults, body, ada.headers()...).Field, body)
	}
	var s control.RequestDefaults
	r.expectOK(&s, "GET "+control.PathRequestDefaults, "", ada.headers()...)
	require.Empty(t, s.Defaults, "nothing was saved")
}
