package schema_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
)

// TestHumanInTheLoop_RejectsRestrictingMembers: a hub that ignored one of these members would accept
// an answer that the requester did not allow.
func TestHumanInTheLoop_RejectsRestrictingMembers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ members, field, detail string }{
		{`"allowedDecisions":["deny"]`, "allowedDecisions", "use type and choices"},
		{`"allowed_decisions":["deny"]`, "allowed_decisions", "not supported"},
		{`"vetoChoices":["deny"]`, "vetoChoices", "not supported"},
		{`"items":[]`, "items", "not supported"},
		{`"supersedes":7`, "supersedes", "not supported"},
		{`"form":{}`, "form", "use questions"},
		{`"halt":true`, "halt", "not supported"},
		{`"recipient_distribution":"owner"`, "recipient_distribution", "use recipients.mode"},
		{`"timeout_seconds":5`, "timeout_seconds", "use timeout"},
		{`"timeoutSeconds":5`, "timeoutSeconds", "use timeout"},
		{`"RequiredApprovals":2`, "RequiredApprovals", "use requiredApprovals"},
		{`"required-approvals":2`, "required-approvals", "use requiredApprovals"},
		{`"requiredapprovals":2`, "requiredapprovals", "use requiredApprovals"},
		{`"Timeout":5`, "Timeout", "use timeout"},
		{`"recipients":{"Mode":"owner"}`, "recipients.Mode", "use mode"},
		{`"escalateAfterSeconds":60,"escalateTo":{"mode":"owner","MEMBERS":["ada"]}`, "escalateTo.MEMBERS", "use members"},
		{`"toolCall":{"name":"Bash","Arguments":{}}`, "toolCall.Arguments", "use arguments"},
	} {
		var q schema.HumanInTheLoop
		require.NoError(t, json.Unmarshal([]byte(`{"question":"?","type":"permission",`+c.members+`}`), &q), c.members)
		err := q.Validate()
		requireField(t, err, "humanInTheLoop."+c.field, schema.ErrInvalid)
		require.ErrorContains(t, err, c.detail)
	}
	var q schema.HumanInTheLoop
	require.NoError(t, json.Unmarshal([]byte(`{"question":"?","type":"permission","halt":null,"colour":"teal","context":{"form":"x"}}`), &q))
	require.NoError(t, q.Validate(), "null counts as absent, and other members are kept")
}

// TestHumanInTheLoop_AppliesSnakeCaseVoteAndTimeMembers lists the names that clients of the seeds
// send.
func TestHumanInTheLoop_AppliesSnakeCaseVoteAndTimeMembers(t *testing.T) {
	t.Parallel()
	var q schema.HumanInTheLoop
	require.NoError(t, json.Unmarshal([]byte(`{"question":"?","type":"permission","required_approvals":2,"timeout":60,"on_timeout":"fail_run",
		"reminder_interval_seconds":30,"reminder_max_count":1,"reason_required":"deny","escalate_after_seconds":40,"escalate_to":{"mode":"owner"},
		"exclude_requester":false,"requires_response":false,"recipients":{"mode":"owner_admins"}}`), &q))
	require.NoError(t, q.Validate())
	require.Empty(t, q.Extra)
	require.Equal(t, 2, q.RequiredApprovals)
	require.Equal(t, schema.FailRun, q.OnTimeout)
	require.Equal(t, "30 1 40", fmt.Sprint(q.ReminderIntervalSeconds, q.ReminderMaxCount, q.EscalateAfterSeconds))
	require.Equal(t, "owner", q.EscalateTo.Mode)
	require.False(t, *q.ExcludeRequester || *q.RequiresResponse)
}

func TestEvent_RejectsMisspelledQuestion(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"human_in_the_loop", "HumanInTheLoop", "humanintheloop"} {
		var e schema.Event
		require.NoError(t, json.Unmarshal([]byte(`{"source_app":"a","session_id":"s","hook_event_type":"t","payload":{},"`+name+`":{}}`), &e))
		requireField(t, e.Validate(), name, schema.ErrInvalid)
	}
}

// TestResponse_RejectsMembersItDoesNotApply: a person who sends one of these does not approve the
// whole request.
func TestResponse_RejectsMembersItDoesNotApply(t *testing.T) {
	t.Parallel()
	for text, field := range map[string]string{
		`{"permission":true,"items":[{"id":"a","permission":false}]}`: "items",
		`{"permission":true,"ModifiedArguments":{}}`:                  "ModifiedArguments",
		`{"permission":true,"hold-ms":1}`:                             "hold-ms",
	} {
		requireField(t, json.Unmarshal([]byte(text), &schema.Response{}), field, schema.ErrWrongAnswer)
	}
	require.NoError(t, json.Unmarshal([]byte(`{"permission":true,"hookEvent":{"items":1},"respondedAt":1,"note":"x"}`), &schema.Response{}), "a version 1 page")
}

func TestDecisions_RejectUnknownMembers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, field string
		into        any
	}{
		{`{"modified_args":{}}`, "modified_args", &inbox.ApproveCall{}},
		{`{"choice":"approve","modifiedArguments":{}}`, "modifiedArguments", &inbox.HitlVote{}},
		{`{"choice":"approve","onlyOnce":true}`, "onlyOnce", &inbox.HitlVote{}},
		{`{"request-secret":"x"}`, "request-secret", &schema.Cancel{}},
		{`{"Reason":"x"}`, "Reason", &inbox.HitlCancel{}},
		{`{"why":"x"}`, "why", &inbox.RejectCall{}},
		{`{"approvalId":"1","approved":true,"modifiedArguments":{}}`, "modifiedArguments", &inbox.AgentApproval{}},
		{`{"token":"t","permission":true,"modifiedArguments":{}}`, "modifiedArguments", &schema.LinkVote{}},
		{`{"token":"t","permission":true,"permission":false}`, "permission", &schema.LinkVote{}},
		{`{"requests":[],"Requests":[]}`, "Requests", &schema.Approvals{}},
		{`{"seconds":5,"until":7}`, "until", &schema.Extend{}},
	} {
		requireField(t, json.Unmarshal([]byte(c.text), c.into), c.field, schema.ErrInvalid)
	}
	var c inbox.ApproveCall
	require.NoError(t, json.Unmarshal([]byte(`{"modified_arguments":{}}`), &c))
	require.NotNil(t, c.ModifiedArguments, "in both spellings")
	var withdrawal schema.Cancel
	require.NoError(t, json.Unmarshal([]byte(`{"request_secret":"x"}`), &withdrawal))
	require.Equal(t, "x", withdrawal.RequestSecret)
}

// TestModifiedArguments_RejectDuplicateNames: the person sees one of the two values, and the agent
// may run the other.
func TestModifiedArguments_RejectDuplicateNames(t *testing.T) {
	t.Parallel()
	q := schema.HumanInTheLoop{Question: "?", Type: schema.Permission, ToolCall: &schema.ToolCall{Name: "Bash", Editable: true, Arguments: json.RawMessage(`{}`)}}
	yes := true
	for arguments, name := range map[string]string{
		`{"command":"ls","command":"rm -r /"}`:             "command",
		`{"command":"ls","comm\u0061nd":"rm"}`:             "command",
		`{"a":[{"b":1},{"c":{"d":1e999,"d":2}}]}`:          "d",
		`{"a":{"b":[]},"x":"a","a":0}`:                     "a",
		`{"a":{"a":"a"},"b":["a","a"],"c":[{"a":"a"}]}`:    "",
		`{"n":1e999,"m":[1,[2,{"n":null}]],"o":{"n":"n"}}`: "",
	} {
		err := q.CheckResponse(&schema.Response{Permission: &yes, ModifiedArguments: json.RawMessage(arguments)})
		if name == "" {
			require.NoError(t, err, arguments)
			continue
		}
		requireField(t, err, "modifiedArguments", schema.ErrWrongAnswer)
		require.ErrorContains(t, err, fmt.Sprintf("%q twice", name))
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{`5`: 0, `{}`: 1, `[[],{"a":[1]}]`: 3, `"[[["`: 0, `["\"[[", "\\", []]`: 2} {
		require.Equal(t, want, schema.Depth([]byte(text)), text)
	}
}
