package policy

import "github.com/hookback/hookback/agentclient/call"

// value is a JSON value of a policy or of a call's arguments.
type value = call.Value

// maxDepth limits nesting. Deeper nesting is an attempt to overflow a parser's stack.
const maxDepth = 100
