package digest

// Repeats counts how often the newest call of an agent was repeated. Its zero value has no call.
type Repeats struct {
	Equal    int // calls in a row that equal the newest
	Failures int // failures in a row that equal it, with the same error

	agent, tool, err, useID string
	input                   uint64
}

// Add adds the end of a call. It returns false for the end of a call that it has: an agent may report it twice.
func (r *Repeats) Add(f *EventFacts) bool {
	if f.UseID != "" && f.UseID == r.useID {
		return false
	}
	equal, sameError := f.InputHash != 0 && f.Agent == r.agent && f.Tool == r.tool && f.InputHash == r.input, f.Error == r.err
	if r.Equal++; !equal {
		r.Equal = 1
	}
	switch {
	case !f.Failed:
		r.Failures = 0
	case equal && sameError && r.Failures > 0:
		r.Failures++
	default:
		r.Failures = 1
	}
	r.agent, r.tool, r.err, r.useID, r.input = f.Agent, f.Tool, f.Error, f.UseID, f.InputHash
	return true
}

// Step records that the agent went on. Some models use the same ids of calls in each turn.
func (r *Repeats) Step() { r.useID = "" }
