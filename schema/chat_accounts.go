package schema

// ChatAccounts is the body of GET /api/chat-accounts.
type ChatAccounts struct {
	Accounts []ChatAccount `json:"accounts"`
	Bots     []ChatBot     `json:"bots"` // that take answers
}

// ChatBot is a bot that takes answers.
type ChatBot struct {
	Kind string `json:"kind" jsonschema:"enum=telegram,enum=slack"`
	Name string `json:"name"` // its user name
}

// ChatAccount is an account of a chat service with which a person answers.
type ChatAccount struct {
	Kind     string `json:"kind" jsonschema:"enum=telegram,enum=slack"`
	Account  string `json:"account"` // the service's number of the account
	Label    string `json:"label"`   // the name that the account shows
	LinkedAt Millis `json:"linkedAt"`
}

// ChatCode is the body of POST /api/chat-accounts/codes: a code that links a chat account once.
type ChatCode struct {
	Code      string    `json:"code"` // sent to a bot: "/start CODE" in Telegram, CODE in Slack
	ExpiresAt Millis    `json:"expiresAt"`
	Bots      []ChatBot `json:"bots"` // that take answers
}
