package schema

// Notice is one message about a question to one person by one channel, or to a channel
// that many read.
type Notice struct {
	Channel string `json:"channel"` // its name in the settings
	Kind    string `json:"kind" jsonschema:"enum=asked,enum=reminder,enum=escalated"`
	Person  string `json:"person,omitempty"`
	// State: queued, sent, failed (Error says why; it was retried), or suppressed (Why).
	State    string `json:"state" jsonschema:"enum=queued,enum=sent,enum=suppressed,enum=failed"`
	Why      string `json:"why,omitempty" jsonschema:"enum=cooldown,enum=quiet_hours,enum=watching,enum=answered,enum=no_address"`
	Error    string `json:"error,omitempty"` // without the channel's secrets
	Attempts int    `json:"attempts,omitempty"`
	At       Millis `json:"at"`
}

var noticeRoutes []Route
