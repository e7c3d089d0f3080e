package routes

import (
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

var alerts = []Route{
	{
		Method: "GET", Path: control.PathAlerts, Access: schema.AccessRead, Summary: "List alerts",
		Description: "Returns the open alerts and the last 50 closed ones. An alert closes by itself when its condition ends, and when its rule is removed. Streams of version 2 send the open ones with each change (frame alert).",
		Response:    control.AlertList{}, Returns: "the alerts",
	},
	{
		Method: "GET", Path: control.PathAlertRules, Access: schema.AccessRead, Summary: "List alert rules",
		Description: "Returns the conditions that the hub watches. There are none at first.",
		Response:    control.AlertRuleList{}, Returns: "the rules",
	},
	{
		Method: "POST", Path: control.PathAlertRules, Access: schema.AccessAdmin, Summary: "Create an alert rule",
		Description: "Adds a rule: stuck (minutes without an event in a turn), errors (percent of the last calls failed), loop (equal calls or equal failures in a row) or spend (cost within a window). A new alert notifies people through the channels, within their quiet hours and cooldown. It stops nothing. The change is an entry of the audit log.",
		Request:     control.AlertRule{}, Response: control.AlertRuleList{}, Returns: "the rules", Errors: []error{schema.ErrTooMany},
	},
	{
		Method: "PUT", Path: control.PathAlertRule, Access: schema.AccessAdmin, Summary: "Change an alert rule",
		Description: "Replaces a rule. Its open alerts close if the new condition does not hold. The change is an entry of the audit log.",
		Request:     control.AlertRule{}, Response: control.AlertRuleList{}, Returns: "the rules", Errors: []error{schema.ErrNotFound},
	},
	{
		Method: "DELETE", Path: control.PathAlertRule, Access: schema.AccessAdmin, Summary: "Remove an alert rule",
		Description: "Removes a rule and closes its alerts. The change is an entry of the audit log.",
		Response:    control.AlertRuleList{}, Returns: "the remaining rules", Errors: []error{schema.ErrNotFound},
	},
}

var coverage = []Route{
	{
		Method: "GET", Path: control.PathCoverage, Access: schema.AccessRead, Summary: "List which agents run the gate",
		Description: "Returns the agents of each account and machine with their state: whether an event came with the version, the policy and the hooks that are there now. Machines report it, so nothing in it is verified. An agent without a report and an event for 30 days is removed.",
		Response:    control.CoverageList{}, Returns: "the agents, by machine and account",
	},
	{
		Method: "POST", Path: control.PathCoverage, Access: schema.AccessPost, Summary: "Report the agents of a machine",
		Description: "Stores what hookback status found in the settings of an account on a machine. Hooks report the same in the member gate of an event at the start or the end of a session or a turn, and the hub checks its own account every 10 seconds. A sender has room for 500 agents: the new ones of a report beyond that are refused until one had no news for a day.",
		Request:     control.MachineReport{}, Response: control.CoverageList{}, Returns: "the agents of this machine and account", Errors: []error{schema.ErrTooMany},
	},
}
