package httpapi

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema/control"
)

func TestAlertRules_AreManagedByAdmins(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	send := func(method, path, body string, status int) (list control.AlertRuleList) {
		t.Helper()
		resp, b := r.do(method, path, body, append(ada.headers(), "Content-Type", "application/json")...)
		require.Equal(t, status, resp.StatusCode, string(b))
		if status == 200 {
			require.NoError(t, json.Unmarshal(b, &list))
		}
		return list
	}
	require.Empty(t, send("GET", control.PathAlertRules, "", 200).Rules)
	list := send("POST", control.PathAlertRules, `{"kind":"spend","usd":10,"per":"person"}`, 200)
	require.Equal(t, []control.AlertRule{{ID: 1, Kind: control.AlertSpend, Minutes: 1440, USD: 10, Per: control.PerPerson}}, list.Rules)
	list = send("PUT", "/api/alert-rules/1", `{"kind":"loop","failures":3}`, 200)
	require.Equal(t, []control.AlertRule{{ID: 1, Kind: control.AlertLoop, Calls: 8, Failures: 3}}, list.Rules)
	for _, body := range []string{`{"kind":"loop","usd":3}`, `{"kind":"spend","usd":-1}`, `{"kind":"spend","usd":1e9}`, `{"kind":"x"}`, `[]`, `{"kind":7}`, ``} {
		send("POST", control.PathAlertRules, body, 400)
	}
	send("PUT", "/api/alert-rules/7", `{"kind":"loop"}`, 404)
	send("DELETE", "/api/alert-rules/x", "", 404)
	require.Empty(t, send("DELETE", "/api/alert-rules/1", "", 200).Rules)
	require.Empty(t, send("GET", control.PathAlertRules, "", 200).Rules)
	resp, b := r.do("GET", control.PathAlerts, "", ada.headers()...)
	require.Equal(t, 200, resp.StatusCode)
	require.JSONEq(t, `{"open":[],"closed":[]}`, string(b))
	_, b = r.do("GET", "/api/ledger", "", ada.headers()...)
	require.Contains(t, string(b), "alerts.changed")
}
