package transcript

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/hookback/hookback/schema/control"
)

// CodexTurn is what Codex's transcript has about the newest turn and its reviewer.
type CodexTurn struct {
	ID       string // as the hooks of the turn get it
	Reviewer string // who decides about prompts in the turn: "user", "auto_review", or "" if that is unknown
	// Refused is the last call since the newest prompt, if the reviewer refused it.
	Refused *RefusedCall
}

// RefusedCall is a call of the model that Codex's reviewer refused.
type RefusedCall struct {
	ID, Tool string
	// Call is the call's arguments: JSON, or a text for a tool that takes text.
	Call   string
	Reason string // the reviewer's
}

// ReadCodexTurn returns the newest turn in the file; nothing if it is not found before ctx ends, or if the
// file is not a regular one.
func ReadCodexTurn(ctx context.Context, path string) CodexTurn { return read(ctx, path, readCodexTurn) }

// RepeatsRefusedCall reports whether one call is pending at the end of the file, and equals the last one that the
// reviewer refused. Hooks do not get all arguments of a call, such as its directory. It reports false if
// ctx ends first.
func RepeatsRefusedCall(ctx context.Context, path string) bool {
	return read(ctx, path, func(path string) bool {
		return repeatsCall(path, true, func(output json.RawMessage) bool {
			_, isOther := refusalReason(output)
			return !isOther
		})
	})
}

// read returns what f finds in the file, or the zero value if ctx ends first.
func read[T any](ctx context.Context, path string, f func(path string) T) (found T) {
	result := make(chan T, 1)
	go func() { result <- f(path) }()
	select {
	case found = <-result:
	case <-ctx.Done():
	}
	return found
}

// RepeatsCall reports whether one call is pending at the end of the file, and equals an earlier one in all its
// arguments whose result contains the text. It reports false if ctx ends first.
func RepeatsCall(ctx context.Context, path, result string) bool {
	return read(ctx, path, func(path string) bool {
		return repeatsCall(path, false, func(output json.RawMessage) bool { return bytes.Contains(output, []byte(result)) })
	})
}

// repeatsCall reports whether the pending call equals an earlier one whose output matches, or only the last such call.
func repeatsCall(path string, onlyLast bool, matches func(output json.RawMessage) bool) bool {
	isMatch := map[string]bool{} // by the id of a call with a result
	var pending *codexLine
	for b := range backward(path) {
		var l codexLine
		if json.Unmarshal(b, &l) != nil || l.Type != "response_item" {
			continue
		}
		p := &l.Payload
		matched, hasResult := isMatch[p.CallID]
		switch {
		case p.CallID == "": // such as a search, which no hook gates
		case strings.HasSuffix(p.Type, "_call_output"):
			isMatch[p.CallID] = matches(p.Output)
		case !strings.HasSuffix(p.Type, "_call"):
		case !hasResult && pending != nil:
			return false // which of them is about to run is not known
		case !hasResult:
			pending = &l
		case matched && pending != nil && p.identity() == pending.Payload.identity():
			return true
		case matched && onlyLast:
			return false
		}
	}
	return false
}

type codexLine struct {
	Type    string       `json:"type"`
	Payload codexPayload `json:"payload"`
}

type codexPayload struct {
	Type     string          `json:"type"`
	TurnID   string          `json:"turn_id"`
	Reviewer string          `json:"approvals_reviewer"`
	Role     string          `json:"role"`
	CallID   string          `json:"call_id"`
	Name     string          `json:"name"`
	JSON     string          `json:"arguments"` // of a function_call
	Input    string          `json:"input"`     // text of a custom_tool_call
	Action   json.RawMessage `json:"action"`    // of a local_shell_call
	Output   json.RawMessage `json:"output"`
}

// identity is equal for equal calls, whatever the order of their arguments is.
func (p *codexPayload) identity() string {
	return p.Name + "\x00" + cmp.Or(control.Digest(p.Name, json.RawMessage(p.JSON)), p.JSON) + p.Input + "\x00" + string(p.Action)
}

// readCodexTurn reads the lines from the last one backwards to the turn's first one.
func readCodexTurn(path string) (turn CodexTurn) {
	var refusal struct{ callID, reason string }
	isOver := false // the call of the turn's newest result, or its newest prompt, was read
	for b := range backward(path) {
		if isOver && !bytes.Contains(b, []byte(`"turn_context"`)) {
			continue // most lines are results of tools, which can be large
		}
		var l codexLine
		err := json.Unmarshal(b, &l)
		p := &l.Payload
		switch {
		case err != nil:
		case l.Type == "turn_context":
			turn.ID, turn.Reviewer = p.TurnID, p.Reviewer
			return turn
		case isOver || l.Type != "response_item":
		case p.Type == "message" && p.Role == "user":
			isOver = true
		case strings.HasSuffix(p.Type, "_call_output"):
			if refusal.reason, isOver = refusalReason(p.Output); !isOver {
				refusal.callID = p.CallID
			}
		case strings.HasSuffix(p.Type, "_call") && p.CallID == refusal.callID && refusal.callID != "":
			turn.Refused, isOver = &RefusedCall{p.CallID, p.Name, p.JSON + p.Input, refusal.reason}, true
		}
	}
	return turn
}

// Codex's words for the model about a call that its reviewer refused. They are in two quoted texts.
const (
	refusalBegin = "This action was rejected due to unacceptable risk.\nReason: "
	refusalEnd   = "\nThe agent must not attempt"
)

var unquote = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")

// refusalReason returns the reviewer's reason in a call's result. isOther reports that the call was
// not refused.
func refusalReason(output json.RawMessage) (reason string, isOther bool) {
	var text string
	if json.Unmarshal(output, &text) != nil {
		text = string(output)
	}
	_, text, found := strings.Cut(unquote.Replace(unquote.Replace(text)), refusalBegin)
	reason, _, _ = strings.Cut(text, refusalEnd)
	return strings.TrimSpace(reason), !found
}
