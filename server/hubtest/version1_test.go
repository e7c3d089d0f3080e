package hubtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// sendJSON posts a body and returns the response's status and text.
func sendJSON(t *testing.T, url, body string) (status int, text string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer http.DefaultClient.CloseIdleConnections()
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
}

// TestVersion1_ChatIsNotStreamed: a stream does not carry transcripts; GET /events/:id returns one.
func TestVersion1_ChatIsNotStreamed(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	before := openTab(t, hub.StreamURL())
	before.next()
	status, body := sendJSON(t, hub.URL()+schema.PathEvents,
		`{"source_app":"a","session_id":"s","hook_event_type":"Stop","payload":{},"chat":[{"type":"user","message":"hello"}]}`)
	require.Equal(t, http.StatusOK, status)
	var e schema.Event
	require.NoError(t, json.Unmarshal([]byte(body), &e))
	require.NotContains(t, string(before.next().Data), "chat")
	require.NotContains(t, string(openTab(t, hub.StreamURL()).next().Data), "chat")
	require.JSONEq(t, `[{"type":"user","message":"hello"}]`, string(getEvent(t, hub, e.ID).Chat))
}

// TestVersion1_ChoiceWithoutLabelsTakesText: the guide's request_approval sends null for choices with every kind, also
// with choice, whose answer extract_answer reads from the member choice.
func TestVersion1_ChoiceWithoutLabelsTakesText(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	c := startReferenceClient(t, hub, "null_choices", "framework")
	require.Nil(t, c.request("null_choices", "May I?", "permission", 300).HumanInTheLoop.Choices)
	c.choices = "null"
	asked := c.request("framework", "Which framework?", "choice", 300)
	require.Equal(t, schema.FreeText, asked.HumanInTheLoop.Type, "clients of version 1 show a text field")
	status, problem := sendJSON(t, hub.URL()+schema.At(schema.PathRespond, asked.ID), `{"choice":"Vitest"}`)
	require.Equal(t, http.StatusUnprocessableEntity, status, problem)
	for range 2 {
		postAnswer(t, hub, asked.ID, `{"response":"Vitest","holdMs":200}`)
	}
	data := c.wait("framework")
	require.Equal(t, "Vitest", data["response"])
	require.Equal(t, "Vitest", data["choice"])
	require.Nil(t, getEvent(t, hub, asked.ID).HumanInTheLoopStatus.Response.Choice)

	for _, invalid := range []string{`"choices":[]`, `"choices":null,"protocolVersion":2`} {
		status, _ := sendJSON(t, hub.URL()+schema.PathEvents, `{"source_app":"a","session_id":"s","hook_event_type":"DecisionPoint","payload":{},
			"humanInTheLoop":{"question":"Which?","type":"choice",`+invalid+`}}`)
		require.Equal(t, http.StatusBadRequest, status, invalid)
	}
}

// TestVersion1_AnswerHasOneMember: an answer with a member of another kind is refused, and the
// question stays pending. The text next to an approval can be a condition of it.
func TestVersion1_AnswerHasOneMember(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	c := startReferenceClient(t, hub, "several_members")
	asked := c.request("several_members", "May I deploy?", "permission", 300)
	status, problem := sendJSON(t, hub.URL()+schema.At(schema.PathRespond, asked.ID), `{"permission":true,"response":"only to staging"}`)
	require.Equal(t, http.StatusUnprocessableEntity, status, problem)
	require.Contains(t, problem, "is not the answer to this question; use permission")
	require.Equal(t, schema.Pending, getEvent(t, hub, asked.ID).HumanInTheLoopStatus.Status)
	postAnswer(t, hub, asked.ID, `{"permission":true,"response":null,"choice":null}`)
	require.Equal(t, true, c.wait("several_members")["permission"])
}

// TestVersion1_ThemesAreNotStored: the hub has no themes. The guide's client keeps them in its browser,
// and reads the error as no themes.
func TestVersion1_ThemesAreNotStored(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	resp, err := http.Get(hub.URL() + "/api/themes?isPublic=true")
	require.NoError(t, err)
	defer http.DefaultClient.CloseIdleConnections()
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
	require.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
	status, _ := sendJSON(t, hub.URL()+"/api/themes", `{"name":"night"}`)
	require.Equal(t, http.StatusNotFound, status)
}

// TestVersion1_EqualQuestionsOfTwoListeners: two agents with one app, session and permission_type each get their own
// answer, because each has its own listener.
func TestVersion1_EqualQuestionsOfTwoListeners(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	first, second := startReferenceClient(t, hub, "deploy"), startReferenceClient(t, hub, "deploy")
	one, other := first.request("deploy", "Deploy api?", "permission", 300), second.request("deploy", "Deploy web?", "permission", 300)
	require.Equal(t, schema.Pending, getEvent(t, hub, one.ID).HumanInTheLoopStatus.Status)
	postAnswer(t, hub, one.ID, `{"permission":true}`)
	postAnswer(t, hub, other.ID, `{"permission":false}`)
	require.Equal(t, true, first.wait("deploy")["permission"])
	require.Equal(t, false, second.wait("deploy")["permission"])
}

// TestVersion1_EqualQuestionsOfOneListener: the listener gives any answer to its newest question, so only that one
// is open.
func TestVersion1_EqualQuestionsOfOneListener(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	c := startReferenceClient(t, hub, "deploy")
	older, newer := c.request("deploy", "Deploy api?", "permission", 300), c.request("deploy", "Deploy web?", "permission", 300)
	require.Equal(t, newer.ID, getEvent(t, hub, older.ID).HumanInTheLoopStatus.SupersededBy)
	status, _ := sendJSON(t, hub.URL()+schema.At(schema.PathRespond, older.ID), `{"permission":true}`)
	require.Equal(t, http.StatusGone, status)
	postAnswer(t, hub, newer.ID, `{"permission":false}`)
	require.Equal(t, false, c.wait("deploy")["permission"])
}
