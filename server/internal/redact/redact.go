// Package redact removes secrets from JSON before it is stored, searched or shown.
//
// A secret is recognized by its name (the member "api_key", the line DB_PASSWORD=… in a command)
// or by its token format (ghp_…, a JWT, a private key). It is replaced by [redacted:rule] inside
// its JSON string. All other bytes of the message stay unchanged. The members by which the
// protocol's clients match messages are never modified.
//
// Almost every event contains no secret, so that path is the fast one: one pass over the bytes
// that looks up byte pairs in a bitmap (see literals.go). Only a message in which a rule matches
// is walked string by string.
//
// This protects against accidents. It does not stop anyone who hides a secret deliberately.
package redact

import (
	"bytes"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/schema"
)

// Redactor finds and replaces secrets. It is immutable and safe for concurrent use. A nil
// Redactor replaces nothing.
type Redactor struct {
	literals [][]literal     // slot → literals to check; slot 0 is empty
	slots    [1 << 16]uint8  // folded byte pair → index in literals
	pairs    [1 << 10]uint64 // bitmap of the pairs that have a slot; fits into the L1 cache
}

// maxNesting bounds the memory of a walk over a hostile message. The hub's own limit
// (schema.MaxDepth) is much lower.
const maxNesting = 4 * schema.MaxDepth

// maxPasses limits how often a replaced string is searched again. A replacement can reveal
// another match; with repeated passes, redacting twice changes nothing.
const maxPasses = 8

// New returns a Redactor.
func New() *Redactor {
	r := &Redactor{}
	r.buildTables()
	return r
}

// JSON replaces the secrets in the JSON text b and returns the result and the number of
// replacements. It does not modify b, and returns b itself if nothing matched. Valid JSON stays
// valid. Text that is not JSON, or is nested too deeply, is returned unchanged; the hub rejects
// it.
func (r *Redactor) JSON(b []byte) (out []byte, n int) { return r.Ask(b, nil) }

// redact returns the redacted message and the number of replacements.
func (w *walker) redact() (out []byte, n int) {
	if !w.run() || w.n == 0 {
		return w.in, 0
	}
	return append(w.out, w.in[w.copied:]...), w.n
}

// walker redacts one message, string by string.
type walker struct {
	r      *Redactor
	shells map[string]call.Shell // command lines of a question's call; nil: see JSON
	in     []byte
	out    []byte
	copied int // in[:copied] is in out, or was replaced
	n      int
	stack  []frame
}

// frame is an open object or array.
type frame struct {
	object bool
	inKey  bool     // the next string is a member's name
	member []byte   // an object's current member, without quotes; the name of an array itself
	rule   *keyName // the rule that makes all its values secret, or nil
	within []byte   // the name of the enclosing container, for labels and ids
}

// run reports whether the text was read to its end.
func (w *walker) run() bool {
	w.stack = []frame{{}}
	for i := 0; i < len(w.in); i++ {
		switch c := w.in[i]; {
		case c == '{' || c == '[':
			if len(w.stack) >= maxNesting {
				return false
			}
			w.openContainer(c == '{')
		case c == '}' || c == ']':
			if len(w.stack) == 1 {
				return false
			}
			w.stack = w.stack[:len(w.stack)-1]
		case c == ',' || c == ':':
			top := &w.stack[len(w.stack)-1]
			top.inKey = top.object && c == ','
		case c == '"':
			end := stringEnd(w.in, i+1)
			if end < 0 {
				return false
			}
			w.handleString(i+1, end)
			i = end
		case c == '-' || isDigit(c):
			end := skipWhile(w.in, i+1, isNumber)
			w.handleNumber(i, end)
			i = end - 1
		}
	}
	return len(w.stack) == 1
}

func isNumber(c byte) bool {
	return isDigit(c) || c == '.' || c == '-' || c == '+' || c|0x20 == 'e'
}

// stringEnd returns the index of the closing quote of the string whose contents begin at from,
// or -1.
func stringEnd(b []byte, from int) int {
	for i := from; ; {
		q := bytes.IndexByte(b[i:], '"')
		if q < 0 {
			return -1
		}
		q += i
		slashes := 0
		for q-slashes > i && b[q-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return q
		}
		i = q + 1
	}
}

func (w *walker) openContainer(object bool) {
	top := &w.stack[len(w.stack)-1]
	f := frame{object: object, inKey: object, within: top.member}
	if rule := w.ruleFor(top); rule != nil && (rule.deep || !object) {
		f.rule = rule
	}
	if !object {
		f.member = top.member
	}
	w.stack = append(w.stack, f)
}

// ruleFor returns the rule that makes a value in f secret, or nil.
func (w *walker) ruleFor(f *frame) *keyName {
	if f.rule != nil || !f.object {
		return f.rule
	}
	return keyNameOf(trailingName(f.member))
}

// handleString redacts the string whose contents are in[from:to].
func (w *walker) handleString(from, to int) {
	raw, top := w.in[from:to], &w.stack[len(w.stack)-1]
	if top.inKey {
		top.member, _ = decodeString(raw)
		w.redactContents(from, to)
		return
	}
	if top.isPreserved() {
		return
	}
	if rule := w.ruleFor(top); rule == nil || !rule.mayBe(raw) {
		w.redactContents(from, to)
	} else if len(raw) > 0 && placeholderLen(raw) != len(raw) {
		w.replace(from, to, placeholder(rule.rule))
	}
}

// handleNumber redacts a number, because a password may be one.
func (w *walker) handleNumber(from, to int) {
	if rule := w.ruleFor(&w.stack[len(w.stack)-1]); rule != nil && rule.numbers {
		w.replace(from, to, `"`+placeholder(rule.rule)+`"`)
	}
}

// redactContents replaces the secrets inside a string.
func (w *walker) redactContents(from, to int) {
	raw := w.in[from:to]
	if !w.r.mayContainSecret(raw) {
		return
	}
	text, _ := decodeString(raw)
	shell, changed := w.shells[string(text)], 0
	for range maxPasses {
		next, n := w.redactString(raw, shell)
		if n == 0 {
			break
		}
		raw, changed = next, changed+n
	}
	if changed > 0 {
		w.replace(from, to, string(raw))
		w.n += changed - 1
	}
}

func (w *walker) replace(from, to int, with string) {
	w.out = append(append(w.out, w.in[w.copied:from]...), with...)
	w.copied = to
	w.n++
}

// isPreserved reports whether the protocol requires the strings in f unchanged.
func (f *frame) isPreserved() bool {
	switch string(f.member) {
	case "source_app", "session_id", "hook_event_type", "permission_type", "agent_name",
		"tool_use_id", "idempotency_key", "choices", "requestSecret", "request_secret",
		"responseWebSocketUrl", "response_websocket_url", "response_web_socket_url",
		"listenerKey", "listener_key":
		return true
	case "nonce":
		return string(f.within) == "humanInTheLoop"
	case "label":
		return string(f.within) == "options"
	case "id":
		return string(f.within) == "questions" || string(f.within) == "toolCall" || string(f.within) == "tool_call"
	default:
		return false
	}
}

func placeholder(rule string) string { return schema.RedactedPrefix + rule + "]" }

// placeholderLen returns the length of the placeholder at the start of b, or 0.
func placeholderLen(b []byte) int {
	if !bytes.HasPrefix(b, []byte(schema.RedactedPrefix)) {
		return 0
	}
	end := skipWhile(b[:min(len(b), 64)], len(schema.RedactedPrefix), func(c byte) bool { return c == '_' || isLower(c) })
	if end == len(b) || b[end] != ']' {
		return 0
	}
	return end + 1
}

// redactString replaces the secrets in the contents of one JSON string. shell is that of a command line.
func (w *walker) redactString(raw []byte, shell call.Shell) (out []byte, n int) {
	text, offset := decodeString(raw)
	s := scan{b: text}
	if w.shells != nil {
		s.layout = layoutOf(text, shell)
	}
	copied, from := 0, 0
	for {
		m, ok := w.r.find(&s, from)
		if !ok {
			break
		}
		from = m.from + 1
		for _, piece := range s.layout.pieces(s.b, m) {
			if piece.from == piece.to {
				continue
			}
			from = piece.to
			out = append(out, raw[copied:offset(piece.from)]...)
			out = append(out, placeholder(piece.rule)...)
			copied = offset(piece.to)
			n++
		}
	}
	if n == 0 {
		return raw, 0
	}
	return append(out, raw[copied:]...), n
}
