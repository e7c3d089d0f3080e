package hubtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/hubtest"
)

// send posts JSON with headers and returns the response.
func send(t *testing.T, address, body string, headers map[string]string) (status int, response string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
}

func newTicket(t *testing.T, hub *hubtest.Hub) string {
	t.Helper()
	status, body := send(t, hub.URL()+control.PathTestTickets, "{}", nil)
	require.Equal(t, http.StatusCreated, status, body)
	var created control.TestTicket
	require.NoError(t, json.Unmarshal([]byte(body), &created))
	return created.Ticket
}

// probe is a question as hookback doctor asks it; change edits it.
func probe(t *testing.T, ticket string, change func(event, question map[string]any)) string {
	t.Helper()
	question := map[string]any{
		"question": "May I?", "type": "permission", "requestSecret": ticket, "nonce": schema.NonceOf(ticket),
		"toolCall": map[string]any{"name": "Bash", "arguments": map[string]any{"command": "echo hookback-doctor"}},
	}
	event := map[string]any{
		"source_app": schema.TestApp, "session_id": control.TestSession + "1", "hook_event_type": "PreToolUse", "payload": map[string]any{},
		"humanInTheLoop": question,
	}
	if change != nil {
		change(event, question)
	}
	body, err := json.Marshal(event)
	require.NoError(t, err)
	return string(body)
}

func postProbe(t *testing.T, hub *hubtest.Hub, ticket string) schema.Event {
	t.Helper()
	status, body := send(t, hub.URL()+schema.PathEvents, probe(t, ticket, nil), map[string]string{control.TestHeader: ticket})
	require.Equal(t, http.StatusOK, status, body)
	var e schema.Event
	require.NoError(t, json.Unmarshal([]byte(body), &e))
	return e
}

// A ticket works once, and only for events that can't hide an approval.
func TestTicket_MarksOnlyProbes(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	for name, change := range map[string]func(event, question map[string]any){
		"another application": func(e, _ map[string]any) { e["source_app"] = "my-project" },
		"another session":     func(e, _ map[string]any) { e["session_id"] = "test-ABC" },
		"a choice": func(_, q map[string]any) {
			delete(q, "toolCall")
			q["type"], q["choices"] = "choice", []string{"a", "b"}
		},
		"a text":             func(_, q map[string]any) { delete(q, "toolCall"); q["type"] = "question" },
		"several approvals":  func(_, q map[string]any) { q["requiredApprovals"] = 2 },
		"certain recipients": func(_, q map[string]any) { q["recipients"] = []string{"ada"} },
		"an appeal":          func(_, q map[string]any) { q["appeal"] = map[string]any{"reason": "x"} },
	} {
		ticket := newTicket(t, hub)
		status, body := send(t, hub.URL()+schema.PathEvents, probe(t, ticket, change), map[string]string{control.TestHeader: ticket})
		require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, status, name+": "+body)
		status, _ = send(t, hub.URL()+schema.PathEvents, probe(t, ticket, nil), map[string]string{control.TestHeader: ticket})
		require.Equal(t, http.StatusForbidden, status, "the ticket is used up: "+name)
	}
	for name, headers := range map[string]map[string]string{
		"no ticket": {}, "an unknown ticket": {control.TestHeader: "ABC"},
	} {
		status, body := send(t, hub.URL()+schema.PathEvents, probe(t, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", nil), headers)
		require.NotEqual(t, http.StatusOK, status, name)
		require.Equal(t, len(headers) > 0, status == http.StatusForbidden, name+": "+body)
	}
	status, body := send(t, hub.URL()+schema.PathBatch, "["+probe(t, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", nil)+"]", map[string]string{control.TestHeader: newTicket(t, hub)})
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "reserved", "a batch takes no ticket")
}

// No answer approves a probe, neither that of a person nor a bulk approval.
func TestTicket_ApprovesNothing(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	ticket := newTicket(t, hub)
	e := postProbe(t, hub, ticket)
	require.True(t, e.HumanInTheLoopStatus.Test)
	require.True(t, e.HumanInTheLoopStatus.Probe)
	require.NotNil(t, e.Watching)
	require.Equal(t, 1, *e.Watching, "the doctor answers, whoever looks")
	require.NotZero(t, e.HumanInTheLoopStatus.ExpiresAt)
	require.LessOrEqual(t, int64(e.HumanInTheLoopStatus.ExpiresAt)-int64(e.Timestamp), int64(61_000))
	for _, answer := range []string{`{"permission": true}`, `{"permission": true, "holdMs": 5000}`, `{"permission": true, "modifiedArguments": {"command": "ls"}}`} {
		status, body := send(t, hub.URL()+schema.At(schema.PathRespond, e.ID), answer, nil)
		require.Contains(t, []int{http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusBadRequest}, status, body)
		require.Equal(t, schema.Pending, testStatus(t, hub, e.ID).Status)
	}
	_, _ = send(t, hub.URL()+schema.PathApprove, `{"ids": [`+e.ID.String()+`]}`, nil)
	require.Equal(t, schema.Pending, testStatus(t, hub, e.ID).Status)

	status, _ := send(t, hub.URL()+control.PathTestDenial, "{}", map[string]string{schema.SecretHeader: "wrong"})
	require.Equal(t, http.StatusNotFound, status)
	status, _ = send(t, hub.URL()+control.PathTestDenial, "{}", nil)
	require.Equal(t, http.StatusNotFound, status)
	status, body := send(t, hub.URL()+control.PathTestDenial, `{"reason": "a check"}`, map[string]string{schema.SecretHeader: ticket})
	require.Equal(t, http.StatusOK, status, body)
	st := testStatus(t, hub, e.ID)
	require.Equal(t, schema.Deny, st.Outcome)
	require.Equal(t, "hookback doctor", st.RespondedBy.Name)
	require.False(t, st.RespondedBy.Verified)
	status, _ = send(t, hub.URL()+control.PathTestDenial, "{}", map[string]string{schema.SecretHeader: ticket})
	require.Equal(t, http.StatusConflict, status)
}

// The approval of a person's test request does not reach a probe that looks the same.
func TestTicket_JoinsNoOtherQuestion(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	first := postProbe(t, hub, newTicket(t, hub))
	second := postProbe(t, hub, newTicket(t, hub))
	require.Zero(t, second.HumanInTheLoopStatus.SameAs)
	postAnswer(t, hub, first.ID, `{"permission": false}`)
	require.Equal(t, schema.Pending, testStatus(t, hub, second.ID).Status)
}

// A ticket with the secret of another question denies nothing, and neither does the route of probes
// with the secret of a real question.
func TestTicket_DeniesOnlyItsQuestion(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	secret := strings.Repeat("secret", 6)
	_, asked := send(t, hub.URL()+schema.PathEvents, `{"source_app": "real", "session_id": "s", "hook_event_type": "PreToolUse", "payload": {}, "humanInTheLoop": {"question": "Go?", "type": "permission", "requestSecret": "`+secret+`"}}`, nil)
	ticket := newTicket(t, hub)
	for _, value := range []string{secret, ticket} {
		status, _ := send(t, hub.URL()+control.PathTestDenial, "{}", map[string]string{schema.SecretHeader: value})
		require.Equal(t, http.StatusNotFound, status)
	}
	var e schema.Event
	require.NoError(t, json.Unmarshal([]byte(asked), &e))
	require.Equal(t, schema.Pending, testStatus(t, hub, e.ID).Status)
}
