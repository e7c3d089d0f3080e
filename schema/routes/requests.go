package routes

import (
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/schema/inbox"
)

var agentParam = Param{"agent", "only requests of this agent (source_app); repeatable"}

var requests = []Route{
	{
		Method: "GET", Path: inbox.PathHitlRequests, Access: schema.AccessRead, Summary: "List requests",
		Description: "Returns a page of the inbox, newest request first.",
		Query: []Param{
			{"status", "pending, decided, expired or cancelled; default: all"}, agentParam,
			{"waiting_on_me", "true: only pending requests that the caller may vote on and has not"},
			{"from", "created at or after this time by the hub's clock, Unix ms"}, {"to", "created before this time by the hub's clock, Unix ms"},
			{"cursor", "next_cursor of the previous page"}, {"limit", "number of requests"},
		},
		Ranges:   map[string]Range{"limit": {1, inbox.MaxHitlPage, 50}},
		Response: inbox.HitlPage{}, Returns: "a page of requests",
	},
	{
		Method: "GET", Path: inbox.PathHitlRequest, Access: schema.AccessRead, Summary: "Read a request",
		Description: "Returns one request with its votes, and its outcome once it has one.",
		Response:    inbox.HitlRequest{}, Returns: "the request", Errors: []error{schema.ErrNoQuestion},
		Examples: Examples{Response: []string{"v2.HitlRequest.voting", "v2.HitlRequest.answered"}},
	},
	{
		Method: "POST", Path: inbox.PathHitlVote, Access: schema.AccessDecide, Summary: "Vote on a request",
		Description: "Votes on a request. A request with a quorum of one is decided by the vote.",
		Request:     inbox.HitlVote{}, Response: inbox.HitlRequest{}, Returns: "the request with the vote", Errors: answerErrors,
		Examples: Examples{Response: []string{"v2.HitlRequest.voting", "v2.HitlRequest.answered"}},
	},
	{
		Method: "POST", Path: inbox.PathHitlCancel, Access: schema.AccessCancel, Summary: "Cancel a request",
		Description: "Cancels a pending request. Its agent receives the outcome __cancelled__.",
		Request:     inbox.HitlCancel{}, Response: inbox.HitlRequest{}, Returns: "the request with its new status", Errors: cancelErrors,
		Examples: Examples{Response: []string{"v2.HitlRequest.cancelled"}},
	},
	{
		Method: "GET", Path: inbox.PathHitlStats, Access: schema.AccessRead, Summary: "Count requests",
		Description: "Returns the number of requests, and the outcomes of those created in the last days.",
		Query: []Param{
			{"days", "number of days; ignored with from"}, zoneParam,
			{"from", "created at or after this time by the hub's clock, Unix ms"}, {"to", "created before this time by the hub's clock, Unix ms; default now"},
			agentParam,
		},
		Response: inbox.HitlStats{}, Returns: "the counts",
	},
}

var approvals = []Route{
	{
		Method: "GET", Path: inbox.PathApprovals, Access: schema.AccessRead, Summary: "List approvals",
		Description: "Returns the pending permissions in the format of a tool approval queue, oldest first.",
		Response:    []inbox.Approval{}, Returns: "the pending permissions",
	},
	{
		Method: "GET", Path: inbox.PathApprovalFeed, Access: schema.AccessRead, Summary: "Follow approvals",
		Description: "Server-sent events (text/event-stream). The event approval-required has approvalId, toolName, input and message; a new stream begins with all pending permissions. The event approval-resolved has approvalId, approved, outcome and reason.",
		Headers:     []Param{{"Last-Event-ID", "resume after this event, as browsers do"}},
		Returns:     "the stream, as text/event-stream",
	},
	{
		Method: "GET", Path: inbox.PathApproval, Access: schema.AccessRead, Summary: "Read an approval",
		Description: "Returns one pending permission in the same format.",
		Response:    inbox.Approval{}, Returns: "the pending permission", Errors: []error{schema.ErrNoQuestion, schema.ErrDecided, schema.ErrExpired},
	},
	{
		Method: "POST", Path: inbox.PathApproveCall, Access: schema.AccessDecide, Summary: "Approve a call",
		Description: "Approves a tool call, optionally with modified arguments.",
		Request:     inbox.ApproveCall{}, Response: schema.Event{}, Returns: "the event with its new status", Errors: answerErrors,
		Examples: Examples{Response: answeredExample},
	},
	{
		Method: "POST", Path: inbox.PathRejectCall, Access: schema.AccessDecide, Summary: "Reject a call",
		Description: "Rejects a tool call. The reason is sent to the agent.",
		Query:       []Param{reasonParam},
		Request:     inbox.RejectCall{}, Response: schema.Event{}, Returns: "the event with its new status", Errors: answerErrors,
		Examples: Examples{Response: []string{"v2.Event.denied"}},
	},
	{
		Method: "POST", Path: inbox.PathAgentApprove, Access: schema.AccessDecide, Summary: "Approve or deny by approval id",
		Description: "Approves or denies the permission with the given approval id, which may be text or a number.",
		Request:     inbox.AgentApproval{}, Response: schema.Event{}, Returns: "the event with its new status",
		Errors:   append([]error{schema.ErrNotFound}, answerErrors...),
		Examples: Examples{Response: answeredExample},
	},
}

var rules = []Route{
	{
		Method: "GET", Path: schema.PathRules, Access: schema.AccessRead, Summary: "List rules",
		Description: "Returns the rules with their number of uses, newest first: the active rules and the newest expired or revoked ones, at most 1000.",
		Response:    []schema.Rule{}, Returns: "the rules",
	},
	{
		Method: "POST", Path: schema.PathRules, Access: schema.AccessKeep, Summary: "Create a rule",
		Description: "Creates a rule that answers permissions on behalf of its creator, from a request that a person has seen, or from scratch. With the scope session it allows the harmless and the unknown calls of that request's session for 15 minutes, replaces an earlier rule of this kind, and ends when the session is frozen.",
		Request:     schema.RuleDraft{}, Response: schema.Rule{}, Returns: "the new rule",
		Errors: []error{schema.ErrNotFound, schema.ErrNoQuestion, schema.ErrNoRule},
	},
	{
		Method: "POST", Path: schema.PathRulePreview, Access: schema.AccessKeep, Summary: "Preview a rule",
		Description: "Previews a rule, from a request or from scratch, without creating it: its sentence, and a comparison with the newest stored permissions.",
		Request:     schema.RuleDraft{}, Response: schema.RulePreview{}, Returns: "the preview",
		Errors: []error{schema.ErrNotFound, schema.ErrNoQuestion, schema.ErrNoRule},
	},
	{
		Method: "DELETE", Path: schema.PathRule, Access: schema.AccessKeep, Summary: "Revoke a rule",
		Description: "Revokes a rule. It stays listed.",
		Response:    schema.Rule{}, Returns: "the revoked rule",
	},
	{
		Method: "GET", Path: history.PathAutomatic, Access: schema.AccessRead, Summary: "List automatic answers",
		Description: "Returns the answers that rules of the hub gave, newest first. A page can be short or empty and still have a next page.",
		Query:       []Param{{"before", "only ids below this one: next of the previous page"}, {"limit", "number of answers"}},
		Ranges:      map[string]Range{"before": {Min: 1, Max: Unbounded}, "limit": {1, history.MaxAutomatic, 50}},
		Response:    history.AutomaticPage{}, Returns: "the answers",
	},
	{
		Method: "GET", Path: history.PathPolicies, Access: schema.AccessRead, Summary: "List the policies in force",
		Description: "Returns the policy files (hookback.json) that hooks reported in the last 30 days: the newest report about each file on each machine, with its rules as sentences and their hits in the calls of these days. The hub reads no files of projects and writes no policy files.",
		Response:    history.PolicyList{}, Returns: "the policies",
	},
	{
		Method: "POST", Path: history.PathReplay, Access: schema.AccessRead, Summary: "Replay a policy or a rule",
		Description: "Compares the text of a policy file, or a draft of a rule, with the calls of the last 30 days. A rule for a file is also returned as a sentence and in its file. It creates nothing.",
		Request:     history.ReplayDraft{}, Response: history.Replay{}, Returns: "the comparison",
		Errors: []error{schema.ErrNotFound, schema.ErrNoQuestion, schema.ErrNoRule, schema.ErrNoPolicy},
	},
}

var notifications = []Route{
	{
		Method: "GET", Path: schema.PathChannels, Access: schema.AccessRead, Summary: "List channels",
		Description: "Returns the notification channels, without their secrets.",
		Response:    []schema.Channel{}, Returns: "the channels",
	},
	{
		Method: "POST", Path: schema.PathChannels, Access: schema.AccessAdmin, Summary: "Create a channel",
		Description: "Creates a notification channel. The secret of a webhook is shown once.",
		Request:     schema.ChannelDraft{}, Response: schema.Channel{}, Returns: "the new channel",
	},
	{
		Method: "GET", Path: schema.PathChatAccounts, Access: schema.AccessOwn, Summary: "List chat accounts",
		Description: "Returns the chat accounts with which the signed-in person answers, and the bots of the hub that take answers.",
		Response:    schema.ChatAccounts{}, Returns: "the accounts",
	},
	{
		Method: "POST", Path: schema.PathChatCodes, Access: schema.AccessOwn, Summary: "Create a code for a chat account",
		Description: "Creates a code that links a chat account with the signed-in person, once and for ten minutes. It replaces the person's previous code. The account sends it to a bot of the hub in a private chat, as /start CODE.",
		Request:     schema.Confirmation{}, Response: schema.ChatCode{}, Returns: "the code", Errors: []error{schema.ErrProofRequired},
	},
	{
		Method: "DELETE", Path: schema.PathChatAccount, Access: schema.AccessOwn, Summary: "Unlink a chat account",
		Description: "Removes the link of the account :account of the service :kind with the signed-in person. Its buttons decide nothing any more.",
		Response:    schema.ChatAccounts{}, Returns: "the remaining accounts",
	},
	{
		Method: "GET", Path: schema.PathMyNotifications, Access: schema.AccessOwn, Summary: "Read notification settings",
		Description: "Returns the caller's notification settings.",
		Response:    schema.NotificationSettings{}, Returns: "the settings",
	},
	{
		Method: "POST", Path: schema.PathMyNotifications, Access: schema.AccessOwn, Summary: "Replace notification settings",
		Description: "Replaces the caller's notification settings.",
		Request:     schema.NotificationSettings{}, Response: schema.NotificationSettings{}, Returns: "the new settings",
	},
	{
		Method: "PUT", Path: schema.PathChannelFilter, Access: schema.AccessAdmin, Summary: "Replace the filter of a channel",
		Description: "Replaces the filter that selects the requests of a channel's messages. An empty one selects every request.",
		Request:     schema.ChannelFilter{}, Response: []schema.Channel{}, Returns: "the channels",
	},
	{
		Method: "DELETE", Path: schema.PathChannel, Access: schema.AccessAdmin, Summary: "Remove a channel",
		Description: "Removes a notification channel.",
		Response:    []schema.Channel{}, Returns: "the remaining channels",
	},
	{
		Method: "GET", Path: schema.PathPushKey, Access: schema.AccessRead, Summary: "Read the Web Push key",
		Description: "Returns the public key for Web Push subscriptions.",
		Response:    schema.PushKey{}, Returns: "the key",
	},
	{
		Method: "POST", Path: schema.PathPush, Access: schema.AccessOwn, Summary: "Subscribe to Web Push",
		Description: "Subscribes this browser to Web Push. A signed-in person gets the questions addressed to them.",
		Request:     schema.PushSubscription{}, Response: schema.NotificationSettings{}, Returns: "the caller's settings",
	},
	{
		Method: "DELETE", Path: schema.PathPush, Access: schema.AccessAsker, Summary: "Unsubscribe from Web Push",
		Description: "Unsubscribes a browser. Its endpoint is enough.",
		Request:     schema.PushSubscription{}, Response: schema.NotificationSettings{}, Returns: "the caller's settings",
	},
	{
		Method: "POST", Path: schema.PathLink, Access: schema.AccessPublic, Summary: "Preview a signed link",
		Description: "Previews a request by signed link, without deciding it.",
		Request:     schema.Link{}, Response: schema.LinkPreview{}, Returns: "the request as its recipient sees it",
		Errors: []error{schema.ErrSignIn, schema.ErrNotAllowed, schema.ErrNoQuestion, schema.ErrDecided, schema.ErrStale, schema.ErrExpired},
	},
	{
		Method: "POST", Path: schema.PathLinkVote, Access: schema.AccessPublic, Summary: "Answer by signed link",
		Description: "Answers a request by signed link as the recipient of the link. A link works once.",
		Request:     schema.LinkVote{}, Response: schema.Event{}, Returns: "the event with its new status",
		Errors:   append([]error{schema.ErrSignIn, schema.ErrNotAllowed}, answerErrors...),
		Examples: Examples{Response: answeredExample},
	},
	{
		Method: "POST", Path: schema.PathTestChannel, Access: schema.AccessAdmin, Summary: "Test a channel",
		Description: "Sends a test message through a channel and waits for the result.",
		Response:    schema.ChannelTestResult{}, Returns: "the result, also if sending failed",
	},
}
