package redact

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
)

// The prefilter finds the rules that might match.
//
// Every rule has a literal that must occur, such as "secret" or "ghp_". For each literal,
// buildTables selects the three consecutive bytes that are rarest in hook events. Wherever they
// occur, one of their two pairs begins at an even offset. So it is sufficient to look up every
// second pair of a message in a bitmap, eight bytes per iteration. Case is folded by setting bit
// 5 of every byte. That can make different bytes equal, but never equal bytes different, and the
// match functions check every candidate exactly.

// literal is a text to search for and the function that checks its occurrences.
type literal struct {
	text  string // folded
	at    int    // offset of the indexed pair in text
	match matchFunc
}

// matchFunc decides whether the literal at s.b[at:] is part of a secret.
type matchFunc func(r *Redactor, s *scan, at int) (match, bool)

// match is a secret that was found: the bytes to replace, and the rule.
type match struct {
	from, to int
	name     int // where the name before it begins; 0: it has none
	rule     string
}

// scan is a text to search.
type scan struct {
	b []byte
	// raw: b is JSON, not the decoded text of one string. The result is then only whether there
	// may be a secret. A false positive costs time, a false negative leaks a secret.
	raw    bool
	layout *layout // of a question's string; nil: see Redactor.JSON

	cookieEnd int // of the cookies that were found last
}

const caseFoldMask = 0x2020202020202020

// typicalEvent represents the events that agents send. Byte pairs that are frequent in it are
// avoided as index pairs.
const typicalEvent = `{"source_app":"my-project","session_id":"4f2a9c1e-77b3","hook_event_type":"PreToolUse",
"timestamp":1734189245000,"payload":{"session_id":"","transcript_path":"/home/user/.claude/projects/session.jsonl",
"cwd":"/home/user/project","permission_mode":"default","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":
{"command":"go test ./... && git status --short","description":"Run the tests of the package","file_path":"internal/server/main.go",
"old_string":"func (s *Server) connection(ctx context.Context) error { return nil }","new_string":"const items = this.state.filter"},
"tool_response":{"stdout":"ok  \tgithub.com/example/project\t0.312s\nPASS","stderr":"","interrupted":false,"isImage":false,
"usage":{"input_tokens":1200,"output_tokens":310,"cache_read_input_tokens":0}},"tool_use_id":"toolu_01AbCdEf"},
"summary":"The agent reads the file and then checks what the message says","model_name":"claude-sonnet-4-5"}`

// buildTables builds the lookup tables from the rules.
func (r *Redactor) buildTables() {
	r.literals = [][]literal{nil}
	seen := map[string]bool{}
	for _, n := range keyNames {
		if lit := n.literalText(); !seen[lit] {
			seen[lit] = true
			r.addLiteral(lit, (*Redactor).findAssignment)
		}
	}
	for _, sh := range tokenFormats {
		for prefix := range strings.FieldsSeq(sh.prefixes) {
			r.addLiteral(prefix, func(_ *Redactor, s *scan, at int) (match, bool) { return sh.find(s, at, prefix) })
		}
	}
	for i := range secretOptions {
		o := &secretOptions[i]
		r.addLiteral(o.literal, func(_ *Redactor, s *scan, at int) (match, bool) { return o.find(s, at) })
	}
	for _, p := range []literal{
		{text: `://`, match: (*Redactor).findUserinfo},
		{text: `:\/\/`, match: (*Redactor).findEscapedSlash},
		{text: `hooks.slack.com\/`, match: (*Redactor).findEscapedSlash},
		{text: `api\/webhooks\/`, match: (*Redactor).findEscapedSlash},
		{text: `bearer `, match: (*Redactor).findBearer},
		{text: `-----BEGIN `, match: (*Redactor).findPrivateKey},
		{text: `:AA`, match: (*Redactor).findTelegram},
		{text: `eyJ`, match: (*Redactor).findJWT},
		{text: `\u00`, match: (*Redactor).findEscape},
	} {
		r.addLiteral(p.text, p.match)
	}
}

// addLiteral registers a literal under both pairs of its three rarest consecutive bytes.
func (r *Redactor) addLiteral(lit string, fn matchFunc) {
	folded := []byte(lit)
	for i := range folded {
		folded[i] |= 0x20
	}
	bestAt, fewest := 0, -1
	for i := range len(folded) - 2 {
		count := occurrences(folded[i:i+2]) + occurrences(folded[i+1:i+3])
		if fewest < 0 || count < fewest {
			bestAt, fewest = i, count
		}
	}
	for at := bestAt; at <= bestAt+1; at++ {
		pair := uint16(folded[at]) | uint16(folded[at+1])<<8
		if r.slots[pair] == 0 {
			r.literals = append(r.literals, nil)
			r.slots[pair] = uint8(len(r.literals) - 1) //nolint:gosec // TestBuildTables_SlotsFitByte checks the number
			r.pairs[pair>>6] |= 1 << (pair & 63)
		}
		slot := r.slots[pair]
		r.literals[slot] = append(r.literals[slot], literal{text: string(folded), at: at, match: fn})
	}
}

// foldedTypical is typicalEvent, folded like the searched text.
var foldedTypical = strings.Map(func(c rune) rune { return c | 0x20 }, typicalEvent)

func occurrences(pair []byte) int { return strings.Count(foldedTypical, string(pair)) }

// mayContainSecret reports whether JSON text may contain a secret.
func (r *Redactor) mayContainSecret(b []byte) bool {
	_, ok := r.find(&scan{b: b, raw: true}, 0)
	return ok
}

// find returns the first secret at or after from.
func (r *Redactor) find(s *scan, from int) (match, bool) {
	b := s.b
	i := from
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:]) | caseFoldMask
		if (r.pairs[uint16(w)>>6]>>(w&63)|r.pairs[uint16(w>>16)>>6]>>(w>>16&63)|
			r.pairs[uint16(w>>32)>>6]>>(w>>32&63)|r.pairs[w>>48>>6]>>(w>>48&63))&1 == 0 {
			continue
		}
		for k := range 4 {
			if f, ok := r.matchAt(s, from, i+2*k, uint16(w>>(16*k))); ok {
				return f, true
			}
		}
	}
	for ; i+2 <= len(b); i += 2 {
		if f, ok := r.matchAt(s, from, i, (uint16(b[i])|uint16(b[i+1])<<8)|0x2020); ok {
			return f, true
		}
	}
	return match{}, false
}

// matchAt checks the literals that are indexed under the pair at s.b[i:].
func (r *Redactor) matchAt(s *scan, from, i int, pair uint16) (match, bool) {
	slot := r.slots[pair]
	if slot == 0 {
		return match{}, false
	}
	probes := r.literals[slot]
	for k := range probes {
		p := &probes[k]
		start := i - p.at
		if start < from || start+len(p.text) > len(s.b) || !sameFolded(s.b[start:], p.text) {
			continue
		}
		if f, ok := p.match(r, s, start); ok {
			return f, true
		}
	}
	return match{}, false
}

func sameFolded(b []byte, lit string) bool {
	for i := range len(lit) {
		if b[i]|0x20 != lit[i] {
			return false
		}
	}
	return true
}

// atBoundary reports whether s.b[at] does not follow a byte of the class. The end of an escape, such as the n
// of \n or the D of %3D, does not count as such a byte, nor does an option of one letter, as in -pVALUE.
func (s *scan) atBoundary(at int, class func(byte) bool) bool {
	if at == 0 || !class(s.b[at-1]) {
		return true
	}
	isOption := at >= 2 && s.b[at-2] == '-' && (s.raw || at == 2 || !isName(s.b[at-3]))
	return isOption || at >= 2 && s.b[at-2] == '\\' || at >= 3 && s.b[at-3] == '%' || at >= 6 && s.b[at-6] == '\\'
}

// findEscape finds escaped letters and digits, which need no escape. They may be part of any
// secret, so the message must be walked.
func (r *Redactor) findEscape(s *scan, at int) (match, bool) {
	if !s.raw || at+6 > len(s.b) {
		return match{}, false
	}
	c, err := strconv.ParseUint(string(s.b[at+4:at+6]), 16, 8)
	return match{}, err == nil && (isName(byte(c)) || bytes.IndexByte([]byte(":/@."), byte(c)) >= 0)
}

// findEscapedSlash makes the message be walked, for literals that contain slashes.
func (r *Redactor) findEscapedSlash(s *scan, _ int) (match, bool) { return match{}, s.raw }

// isCut reports whether a secret in JSON may continue behind an escape. The walk decides.
func (s *scan) isCut(end int) bool { return s.raw && end < len(s.b) && s.b[end] == '\\' }
