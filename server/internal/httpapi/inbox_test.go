package httpapi

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
)

// postJSON posts a JSON body and decodes the response.
func (r *harness) postJSON(path, body string, into any) {
	r.t.Helper()
	resp, b := r.do("POST", path, body, "Content-Type", "application/json")
	require.Equal(r.t, 200, resp.StatusCode, "%s: %s", path, b)
	require.NoError(r.t, json.Unmarshal(b, into), "%s: %s", path, b)
}

// postQuestion posts a question of an application and returns its id.
func (r *harness) postQuestion(app, question string) schema.EventID {
	r.t.Helper()
	return r.post(fmt.Sprintf(`{"source_app":%q,"session_id":"s1","hook_event_type":"PreToolUse","payload":{},"humanInTheLoop":%s}`, app, question)).ID
}

const (
	refund = `{"question":"Refund #1234?","type":"permission","toolCall":{"name":"process_refund","arguments":{"orderId":"1234","amount":50000},"editable":true},
		"context":{"userPrompt":"Refund order #1234"}}`
	ship  = `{"question":"Ship it?","type":"choice","choices":["ship_it","needs_revision","abandon"]}`
	which = `{"question":"Which bucket?","type":"question"}`
)

// TestInbox_RequestLifecycle runs requests through the routes of the multi-approver inbox,
// with and without the prefix /authenticated.
func TestInbox_RequestLifecycle(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", inbox.PathAuthenticated} {
		t.Run("prefix="+prefix, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			permission, choice, text, gone :=
				r.postQuestion("bot", refund), r.postQuestion("release", ship), r.postQuestion("triage", which), r.postQuestion("bot", which)
			at := func(path string, id schema.EventID) string { return prefix + schema.At(path, id) }

			var request inbox.HitlRequest
			r.getJSON(at(inbox.PathHitlRequest, permission), &request)
			require.Equal(t, inbox.HitlPending, request.Status)
			require.Equal(t, []string{"approve", "deny"}, request.Choices)
			require.Equal(t, "process_refund", request.ToolCall.Name)
			require.Equal(t, 1, request.RequiredApprovals)
			require.True(t, request.WaitingOnMe)

			r.postJSON(at(inbox.PathHitlVote, permission), `{"choice":"approve","comment":"Half of it.","modified_arguments":{"orderId":"1234","amount":25000},"revision":1}`, &request)
			require.Equal(t, inbox.HitlDecided, request.Status)
			require.Equal(t, schema.Approve, request.Outcome)
			require.Equal(t, "Half of it.", request.Comment)
			require.Equal(t, "local user", request.DecidedBy)
			require.False(t, request.WaitingOnMe)
			var e schema.Event
			r.getJSON(schema.At(schema.PathEvent, permission), &e)
			require.JSONEq(t, `{"orderId":"1234","amount":25000}`, string(e.HumanInTheLoopStatus.Response.ModifiedArguments))

			r.postJSON(at(inbox.PathHitlVote, choice), `{"choice":"ship_it"}`, &request)
			require.Equal(t, schema.Outcome("ship_it"), request.Outcome)
			r.postJSON(at(inbox.PathHitlVote, text), `{"choice":"Billing"}`, &request)
			require.Equal(t, "Billing", request.Response)
			r.postJSON(at(inbox.PathHitlCancel, gone), `{"reason":"handled by phone"}`, &request)
			require.Equal(t, inbox.HitlCancelled, request.Status)
			require.Equal(t, schema.Cancelled, request.Outcome)
			require.Equal(t, "handled by phone", request.CancellationReason)

			var page inbox.HitlPage
			r.getJSON(prefix+inbox.PathHitlRequests+"?status=decided", &page)
			require.Len(t, page.Requests, 3)
			require.Equal(t, text, page.Requests[0].RequestID, "newest first")
			var stats inbox.HitlStats
			r.getJSON(prefix+inbox.PathHitlStats, &stats)
			require.EqualValues(t, 3, stats.ResponsesCount)
			require.Equal(t, inbox.HitlCounts{Decided: 3, Cancelled: 1}, stats.Counts)
		})
	}
}

func TestInbox_RejectsInvalidRequests(t *testing.T) {
	t.Parallel()
	r := setup(t)
	id, plain := r.postQuestion("bot", refund), r.post(event(1))
	vote, cancel := schema.At(inbox.PathHitlVote, id), schema.At(inbox.PathHitlCancel, id)
	for _, c := range []struct {
		path, body  string
		status      int
		code, field string
	}{
		{vote, `{"choice":"maybe"}`, 422, "wrong_answer", "choice"},
		{vote, `{}`, 422, "wrong_answer", "choice"},
		{vote, `{"choice":"deny","choice":"approve"}`, 400, "invalid", "choice"},
		{vote, `{"Choice":"approve"}`, 400, "invalid", "Choice"},
		{vote, `{"choice":"approve","modifiedArguments":{"amount":1}}`, 400, "invalid", "modifiedArguments"},
		{vote, `{"choice":"approve","modified_arguments":[]}`, 422, "wrong_answer", "modifiedArguments"},
		{vote, `{"choice":"approve","revision":9}`, 409, "stale", ""},
		{schema.At(inbox.PathHitlVote, plain.ID), `{"choice":"approve"}`, 422, "no_question", ""},
		{schema.At(inbox.PathHitlVote, 99), `{"choice":"approve"}`, 404, "not_found", ""},
		{schema.At(inbox.PathHitlCancel, 99), `{}`, 404, "not_found", ""},
		{inbox.PathAgentApprove, fmt.Sprintf(`{"approvalId":"%d"}`, id), 400, "invalid", "approved"},
		{inbox.PathAgentApprove, `{"approvalId":"nobody's","approved":true}`, 404, "not_found", ""},
		{inbox.PathAgentApprove, `{"approvalId":"99","approved":true}`, 404, "not_found", ""},
		{inbox.PathAgentApprove, fmt.Sprintf(`{"approvalId":"%d","approved":false,"approved":true}`, id), 400, "invalid", "approved"},
	} {
		resp, b := r.do("POST", c.path, c.body, "Content-Type", "application/json")
		require.Equal(t, c.status, resp.StatusCode, "%s %s: %s", c.path, c.body, b)
		p := r.problem(resp, b)
		require.Equal(t, c.code, p.Code, "%s %s: %s", c.path, c.body, b)
		require.Equal(t, c.field, p.Field, "%s %s", c.path, c.body)
	}
	for query, field := range map[string]string{
		"/hitl/requests?status=open": "status", "/hitl/requests?limit=201": "limit", "/hitl/requests?cursor=x": "cursor",
		"/hitl/requests?waiting_on_me=perhaps": "waiting_on_me", "/hitl/requests?from=then": "from",
		"/hitl/stats?days=91": "days", "/hitl/stats?tz=Nowhere": "tz", "/hitl/stats?from=5&to=4": "to", "/hitl/stats?from=5": "from",
	} {
		resp, b := r.do("GET", query, "")
		require.Equal(t, 400, resp.StatusCode, query)
		require.Equal(t, field, r.problem(resp, b).Field, query)
	}
	var request inbox.HitlRequest
	r.postJSON(cancel, `{}`, &request)
	resp, b := r.do("POST", vote, `{"choice":"approve"}`, "Content-Type", "application/json")
	require.Equal(t, 410, resp.StatusCode, string(b))
	require.Equal(t, schema.Cancelled, r.problem(resp, b).HumanInTheLoopStatus.Outcome)
}

func TestInbox_FiltersAndPaginates(t *testing.T) {
	t.Parallel()
	r := setup(t)
	var ids []schema.EventID
	for i := range 7 {
		ids = append(ids, r.postQuestion([]string{"a", "b", "c"}[i%3], which))
	}
	r.respondWithText(ids[0]) // of application a
	list := func(query string) (got []schema.EventID, next string) {
		var page inbox.HitlPage
		r.getJSON(inbox.PathHitlRequests+query, &page)
		for _, request := range page.Requests {
			got = append(got, request.RequestID)
		}
		return got, page.NextCursor
	}
	for query, want := range map[string][]int{
		"":                                      {6, 5, 4, 3, 2, 1, 0},
		"?status=pending":                       {6, 5, 4, 3, 2, 1},
		"?status=decided":                       {0},
		"?status=expired":                       nil,
		"?agent=a":                              {6, 3, 0},
		"?agent=a&agent=c&agent=a":              {6, 5, 3, 2, 0},
		"?agent=a&status=pending":               {6, 3},
		"?agent=nobody":                         nil,
		"?agent=nobody&agent=b":                 {4, 1},
		"?waiting_on_me=true":                   {6, 5, 4, 3, 2, 1},
		"?waiting_on_me=true&agent=b":           {4, 1},
		"?waiting_on_me=true&status=decided":    nil,
		"?from=1":                               {6, 5, 4, 3, 2, 1, 0},
		"?to=1":                                 nil,
		fmt.Sprint("?from=", millis(time.Hour)): nil,
		fmt.Sprint("?to=", millis(time.Hour)):   {6, 5, 4, 3, 2, 1, 0},
	} {
		got, next := list(query)
		require.Empty(t, next, query)
		var expect []schema.EventID
		for _, i := range want {
			expect = append(expect, ids[i])
		}
		require.Equal(t, expect, got, query)
	}
	var all []schema.EventID
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		require.Less(t, pages, 4)
		got, next := list("?limit=3&status=pending&cursor=" + cursor)
		all, cursor = append(all, got...), next
	}
	require.Len(t, all, 6, "each request exactly once")

	var stats inbox.HitlStats
	r.getJSON(inbox.PathHitlStats+"?days=2&agent=a&agent=b", &stats)
	require.EqualValues(t, 6, stats.PendingCount)
	require.EqualValues(t, 6, stats.WaitingOnMe)
	require.Zero(t, stats.ResolversCount, "no question has a listener")
	require.Equal(t, []string{"a", "b", "c"}, stats.Agents)
	require.Len(t, stats.Days, 2)
	require.Equal(t, inbox.HitlCounts{Pending: 4, Decided: 1}, stats.Counts)
	var sum inbox.HitlCounts
	for _, day := range stats.Days {
		sum.Pending, sum.Decided = sum.Pending+day.Pending, sum.Decided+day.Decided
	}
	require.Equal(t, stats.Counts, sum)
	r.getJSON(fmt.Sprintf("%s?from=%d&to=%d", inbox.PathHitlStats, millis(-25*time.Hour), millis(time.Hour)), &stats)
	require.GreaterOrEqual(t, len(stats.Days), 2)
	require.Equal(t, inbox.HitlCounts{Pending: 6, Decided: 1}, stats.Counts)
}

func millis(from time.Duration) int64 { return time.Now().Add(from).UnixMilli() }

func (r *harness) respondWithText(id schema.EventID) {
	r.t.Helper()
	var request inbox.HitlRequest
	r.postJSON(schema.At(inbox.PathHitlVote, id), `{"choice":"so"}`, &request)
	require.Equal(r.t, inbox.HitlDecided, request.Status)
}

// TestApprovals_Lifecycle covers the tool approval queue: list, approve with edited
// arguments, reject with a reason in the body or the query, and answer by approval id.
func TestApprovals_Lifecycle(t *testing.T) {
	t.Parallel()
	r := setup(t)
	var list []inbox.Approval
	r.getJSON(inbox.PathApprovals, &list)
	require.Empty(t, list)
	first := r.postQuestion("bot", refund)
	r.postQuestion("bot", which) // no tool call
	hook := r.post(event(1, `"tool_name":"Bash"`, `"humanInTheLoop":{"question":"May I?","type":"permission"}`)).ID
	last, other := r.postQuestion("bot", refund), r.postQuestion("bot", refund)
	r.getJSON(inbox.PathApprovals, &list)
	require.Len(t, list, 4)
	require.Equal(t, first.String(), list[0].ID, "oldest first")
	require.Equal(t, "process_refund", list[0].ToolName)
	require.JSONEq(t, `{"orderId":"1234","amount":50000}`, string(list[0].Arguments))
	require.Equal(t, "Refund order #1234", list[0].UserPrompt)
	require.Equal(t, "Refund #1234?", list[0].Message)
	var one inbox.Approval
	r.getJSON(schema.At(inbox.PathApproval, first), &one)
	require.Equal(t, list[0], one)
	require.Equal(t, "s1", list[0].SessionID)
	at, err := time.Parse(time.RFC3339, list[0].RequestedAt)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), at, time.Minute)
	require.Equal(t, "Bash", list[1].ToolName)
	require.JSONEq(t, `{}`, string(list[1].Arguments))

	var e schema.Event
	r.postJSON(schema.At(inbox.PathApproveCall, first), `{"modifiedArguments":{"orderId":"1234","amount":25000}}`, &e)
	require.Equal(t, schema.Approve, e.HumanInTheLoopStatus.Outcome)
	require.JSONEq(t, `{"orderId":"1234","amount":25000}`, string(e.HumanInTheLoopStatus.Response.ModifiedArguments))
	r.postJSON(schema.At(inbox.PathRejectCall, hook)+"?reason=Duplicate%20refund", ``, &e)
	require.Equal(t, schema.Deny, e.HumanInTheLoopStatus.Outcome)
	require.Equal(t, "Duplicate refund", e.HumanInTheLoopStatus.Reason)
	r.postJSON(inbox.PathAgentApprove, fmt.Sprintf(`{"approvalId":"%d","approved":false}`, last), &e)
	require.Equal(t, "User denied approval", e.HumanInTheLoopStatus.Reason)
	r.postJSON(schema.At(inbox.PathRejectCall, other), `{"reason":"This order was already refunded"}`, &e)
	require.Equal(t, "This order was already refunded", e.HumanInTheLoopStatus.Reason)
	r.getJSON(inbox.PathApprovals, &list)
	require.Empty(t, list)
	resp, b := r.do("POST", inbox.PathAgentApprove, fmt.Sprintf(`{"approvalId":"%d","approved":true}`, last), "Content-Type", "application/json")
	require.Equal(t, 409, resp.StatusCode, string(b))
	resp, b = r.do("GET", schema.At(inbox.PathApproval, last), "")
	require.Equal(t, 409, resp.StatusCode, string(b))
	require.Equal(t, schema.Deny, r.problem(resp, b).HumanInTheLoopStatus.Outcome)
	gone, text := r.postQuestion("bot", refund), r.postQuestion("bot", which)
	r.postJSON(schema.At(inbox.PathHitlCancel, gone), `{}`, &inbox.HitlRequest{})
	for id, status := range map[schema.EventID]int{gone: 410, text: 422, 4711: 404} {
		resp, b = r.do("GET", schema.At(inbox.PathApproval, id), "")
		require.Equal(t, status, resp.StatusCode, string(b))
	}
}

// TestAgentApprove_AcceptsSpellingsOfSeeds posts the id as a number, as POST /events returns
// it, and the decision as decision_type.
func TestAgentApprove_AcceptsSpellingsOfSeeds(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for decision, want := range map[string]schema.Outcome{
		`"approved":true`: schema.Approve, `"decision_type":"approve"`: schema.Approve, `"decision_type":"confirm"`: schema.Approve,
		`"decision_type":"deny"`: schema.Deny, `"decision_type":"deny","approved":false`: schema.Deny,
	} {
		var e schema.Event
		r.postJSON(inbox.PathAgentApprove, fmt.Sprintf(`{"approvalId":%d,%s}`, r.postQuestion("bot", refund), decision), &e)
		require.Equal(t, want, e.HumanInTheLoopStatus.Outcome, decision)
	}
	id := r.postQuestion("bot", refund)
	for decision, field := range map[string]string{
		`"decision_type":"deny","approved":true`: "decision_type", `"decision_type":"yes"`: "decision_type", `"decision_type":""`: "approved",
	} {
		resp, b := r.do("POST", inbox.PathAgentApprove, fmt.Sprintf(`{"approvalId":"%d",%s}`, id, decision), "Content-Type", "application/json")
		require.Equal(t, 400, resp.StatusCode, string(b))
		require.Equal(t, field, r.problem(resp, b).Field, decision)
	}
	for _, unknown := range []string{`1.5`, `-1`, `99999`, `"x"`} {
		resp, b := r.do("POST", inbox.PathAgentApprove, `{"approvalId":`+unknown+`,"approved":true}`, "Content-Type", "application/json")
		require.Contains(t, []int{400, 404}, resp.StatusCode, string(b))
	}
}

// requireRemaining checks a remaining time of total seconds, less the duration of the test.
func requireRemaining(t *testing.T, total float64, got string) {
	t.Helper()
	require.Regexp(t, `^\d+\.\d{3}$`, got)
	seconds, err := strconv.ParseFloat(got, 64)
	require.NoError(t, err)
	require.LessOrEqual(t, seconds, total)
	require.Greater(t, seconds, total-2*waitLimit.Seconds())
}

// TestQuestion_ExtendAndReportExecution extends a deadline, checks the remaining time that
// a pull reports, and reports the execution of the call.
func TestQuestion_ExtendAndReportExecution(t *testing.T) {
	t.Parallel()
	r := setup(t)
	question := r.post(event(1, permission))
	extend, response := schema.At(schema.PathExtend, question.ID), schema.At(schema.PathResponse, question.ID)
	for _, body := range []string{``, `{}`, `{"seconds":null}`, `{"seconds":"60"}`, `{"seconds":-1}`, `{"Seconds":60}`, `{"seconds":1,"seconds":0}`} {
		resp, b := r.do("POST", extend, body, "Content-Type", "application/json")
		require.Equal(t, 400, resp.StatusCode, "%s: %s", body, b)
	}
	left := func() string {
		resp, b := r.do("GET", response, "")
		require.Equal(t, 204, resp.StatusCode, string(b))
		return resp.Header.Get(schema.ExpiresHeader)
	}
	requireRemaining(t, 300, left())
	var e schema.Event
	r.postJSON(extend, `{"seconds":900}`, &e)
	require.Equal(t, "local user", e.HumanInTheLoopStatus.Extended.By)
	requireRemaining(t, 1200, left())
	r.postJSON(extend, `{"seconds":0}`, &e)
	require.Equal(t, schema.Never, left())

	report := schema.At(schema.PathExecution, question.ID)
	resp, b := r.do("POST", report, fmt.Sprintf(`{"state":"succeeded","requestSecret":%q}`, question.RequestSecret), "Content-Type", "application/json")
	require.Equal(t, 409, resp.StatusCode, string(b))
	r.respond(question.ID)
	resp, b = r.do("POST", report, `{"state":"succeeded","requestSecret":"guessed"}`, "Content-Type", "application/json")
	require.Equal(t, 403, resp.StatusCode, string(b))
	r.postJSON(report, fmt.Sprintf(`{"state":"executing","requestSecret":%q}`, question.RequestSecret), &e)
	require.Equal(t, &schema.Execution{State: "executing"}, e.HumanInTheLoopStatus.Execution)
	r.postJSON(report, fmt.Sprintf(`{"state":"failed","durationMs":1200,"error":"exit status 1","requestSecret":%q}`, question.RequestSecret), &e)
	require.Equal(t, &schema.Execution{State: "failed", DurationMS: 1200, Error: "exit status 1"}, e.HumanInTheLoopStatus.Execution)
	r.postJSON(report, fmt.Sprintf(`{"state":"executing","requestSecret":%q}`, question.RequestSecret), &e)
	require.Equal(t, "failed", e.HumanInTheLoopStatus.Execution.State, "a late report of the start changes nothing")
	resp, b = r.do("POST", extend, `{"seconds":60}`, "Content-Type", "application/json")
	require.Equal(t, 409, resp.StatusCode, string(b))
}

// An agent that pulls an answer and does not trust its hub reports that in another pull.
func TestPull_RejectedAnswerIsNotDelivered(t *testing.T) {
	t.Parallel()
	r := setup(t)
	question := r.post(event(1, permission))
	response := schema.At(schema.PathResponse, question.ID)
	secret := []string{schema.SecretHeader, question.RequestSecret}
	resp, b := r.do("GET", response+"?rejected=untrusted", "", secret...)
	require.Equal(t, 204, resp.StatusCode, string(b))
	require.Nil(t, r.event(question.ID).HumanInTheLoopStatus.Delivery, "there is no answer yet")
	r.respond(question.ID)
	resp, b = r.do("GET", response, "", secret...)
	require.Equal(t, 200, resp.StatusCode, string(b))
	require.Equal(t, schema.Pulled, r.event(question.ID).HumanInTheLoopStatus.Delivery.State)
	for query, status := range map[string]int{"?rejected=accepted": 400, "?rejected=untrusted": 403} {
		resp, b = r.do("GET", response+query, "", schema.SecretHeader, "guessed")
		require.Equal(t, status, resp.StatusCode, string(b))
	}
	resp, b = r.do("GET", response+"?rejected=untrusted", "", secret...)
	require.Equal(t, 204, resp.StatusCode, string(b))
	delivery := r.event(question.ID).HumanInTheLoopStatus.Delivery
	require.Equal(t, schema.Refused, delivery.State)
	require.Contains(t, delivery.LastError, "the agent rejected the answer because it trusts another hub")
	require.Contains(t, delivery.LastError, "hookback trust")
	resp, _ = r.do("GET", response, "", secret...)
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, schema.Pulled, r.event(question.ID).HumanInTheLoopStatus.Delivery.State, "it trusts the hub now")
}

// TestCancel_NeedsRecipientOrAdmin: of a question to one person, that person, the owner and an
// admin may cancel it. Another operator and a viewer may not.
func TestCancel_NeedsRecipientOrAdmin(t *testing.T) {
	t.Parallel()
	r := setup(t)
	olga := r.owner("olga")
	callers := map[string]browser{"olga": olga}
	for name, role := range map[string]string{"ada": "admin", "rita": "operator", "oscar": "operator", "vera": "viewer"} {
		callers[name] = r.addPerson(olga, fmt.Sprintf(`{"name":%q,"role":%q}`, name, role))
	}
	for name, may := range map[string]bool{"olga": true, "ada": true, "rita": true, "oscar": false, "vera": false} {
		for _, path := range []string{inbox.PathHitlCancel, schema.PathCancel} {
			var question schema.Event
			r.expectOK(&question, "POST "+schema.PathEvents, event(1, `"humanInTheLoop":{"question":"May I?","type":"permission","recipients":{"mode":"selected_members","members":["rita"]}}`), olga.headers()...)
			route := "POST " + schema.At(path, question.ID)
			if may {
				r.expectOK(nil, route, `{"reason":"handled by phone"}`, callers[name].headers()...)
			} else {
				r.expectProblem("not_allowed", route, `{}`, callers[name].headers()...)
			}
		}
	}
}
