package matcher

import (
	"slices"
	"strconv"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/schema"
)

// consequenceFacts are the members of a consequence that are true or false.
var consequenceFacts = []string{"outside", "partial"}

// ConsequenceNames returns the names of the values that a condition on a consequence can have.
func ConsequenceNames() []string { return slices.Concat(schema.ConsequenceNumbers, consequenceFacts) }

// ConsequenceName returns the value that a path of a condition names: consequence.unrecoverable and similar.
func ConsequenceName(path []string) (name string, ok bool) {
	ok = len(path) == 2 && path[0] == "consequence" && slices.Contains(ConsequenceNames(), path[1])
	return path[len(path)-1], ok
}

// MatchConsequence compares a value of a consequence. It is indeterminate if it was not computed. A partial
// consequence has lower bounds: they decide only whether a value is greater.
func (t *Test) MatchConsequence(c *schema.Consequence, name string) Verdict {
	if c == nil {
		return Indeterminate
	}
	var text string
	isBound := c.Partial
	switch n, known := c.Number(name); {
	case name == "partial":
		text, isBound = strconv.FormatBool(c.Partial), false
	case name == "outside":
		text, isBound = strconv.FormatBool(c.Outside), c.Partial && !c.Outside
	case !known:
		return Indeterminate
	default:
		text = strconv.FormatInt(n, 10)
	}
	value, err := call.ParseValue([]byte(text), 1)
	if err != nil { // unreachable
		return Indeterminate
	}
	got := t.Match(value)
	if isBound && (got != Match || t.Op != "greater" && t.Op != "at_least") {
		return Indeterminate
	}
	return got
}
