package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
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
func ReadCodexTurn(ctx context.Context, path string) (turn CodexTurn) {
	read := make(chan CodexTurn, 1)
	go func() { read <- readCodexTurn(path) }()
	select {
	case turn = <-read:
	case <-ctx.Done():
	}
	return turn
}

type codexLine struct {
	Type    string `json:"type"`
	Payload struct {
		Type      string          `json:"type"`
		TurnID    string          `json:"turn_id"`
		Reviewer  string          `json:"approvals_reviewer"`
		Role      string          `json:"role"`
		CallID    string          `json:"call_id"`
		Name      string          `json:"name"`
		Arguments string          `json:"arguments"` // JSON of a function_call
		Input     string          `json:"input"`     // text of a custom_tool_call
		Output    json.RawMessage `json:"output"`
	} `json:"payload"`
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
			turn.Refused, isOver = &RefusedCall{p.CallID, p.Name, p.Arguments + p.Input, refusal.reason}, true
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
