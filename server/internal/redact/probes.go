package redact

import (
	"encoding/binary"
	"slices"
	"strings"
)

// The search for rules that might match.
//
// Every rule has a literal that must be there, such as "secret" or "ghp_". Of each
// literal three bytes are chosen that are rare in hook events; wherever they stand,
// one of their two pairs begins at an even position. So it is enough to look up
// every second pair of a message in a bitmap, eight bytes a turn. Case is folded by
// setting bit 5 of every byte, which may make unlike bytes look alike, never like
// ones unlike; whatever was found is looked at closely.

// probe is a literal and what to do where it stands.
type probe struct {
	lit  string // folded
	at   int    // of the pair, in lit
	look look
}

// look decides whether the literal at b[at:] is part of a secret.
type look func(r *Redactor, s *scan, at int) (found, bool)

// found is a secret: the bytes to replace, and by which rule.
type found struct {
	from, to int
	rule     string
}

// scan is a text that is searched.
type scan struct {
	b []byte
	// raw: b is JSON, not the text of one string. Then it only matters whether
	// there may be a secret at all: a yes too many costs time, a no too many a secret.
	raw    bool
	assign bool // NAME=value is looked for
}

const fold = 0x2020202020202020

// typical stands for the events that agents send; pairs that occur in it are not
// chosen to search by.
const typical = `{"source_app":"my-project","session_id":"4f2a9c1e-77b3","hook_event_type":"PreToolUse",
"timestamp":1734189245000,"payload":{"session_id":"","transcript_path":"/home/user/.claude/projects/session.jsonl",
"cwd":"/home/user/project","permission_mode":"default","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":
{"command":"go test ./... && git status --short","description":"Run the tests of the package","file_path":"internal/server/main.go",
"old_string":"func (s *Server) connection(ctx context.Context) error { return nil }","new_string":"const items = this.state.filter"},
"tool_response":{"stdout":"ok  \tgithub.com/example/project\t0.312s\nPASS","stderr":"","interrupted":false,"isImage":false,
"usage":{"input_tokens":1200,"output_tokens":310,"cache_read_input_tokens":0}},"tool_use_id":"toolu_01AbCdEf"},
"summary":"The agent reads the file and then checks what the message says","model_name":"claude-sonnet-4-5"}`

// build fills the tables from the rules.
func (r *Redactor) build() {
	r.probes = [][]probe{nil}
	seen := map[string]bool{}
	for _, n := range r.names {
		if lit := n.literal(); !seen[lit] {
			seen[lit] = true
			r.add(lit, (*Redactor).assigned)
		}
	}
	for _, sh := range shapes {
		r.add(sh.prefix, sh.look)
	}
	for _, p := range []probe{
		{lit: `://`, look: (*Redactor).userinfo},
		{lit: `:\/\/`, look: (*Redactor).userinfo},
		{lit: `hooks.slack.com\/services`, look: (*Redactor).escapedSlash},
		{lit: `bearer `, look: (*Redactor).bearer},
		{lit: `-----BEGIN `, look: (*Redactor).privateKey},
		{lit: `eyJ`, look: (*Redactor).jwt},
		{lit: `\u00`, look: (*Redactor).escaped},
	} {
		r.add(p.lit, p.look)
	}
}

// add registers a literal under both pairs of its rarest three bytes.
func (r *Redactor) add(lit string, look look) {
	folded := []byte(lit)
	for i := range folded {
		folded[i] |= 0x20
	}
	best, least := 0, -1
	for i := range len(folded) - 2 {
		common := occurrences(folded[i:i+2]) + occurrences(folded[i+1:i+3])
		if least < 0 || common < least {
			best, least = i, common
		}
	}
	for at := best; at <= best+1; at++ {
		pair := uint16(folded[at]) | uint16(folded[at+1])<<8
		if r.slot[pair] == 0 {
			r.probes = append(r.probes, nil)
			r.slot[pair] = uint8(len(r.probes) - 1) //nolint:gosec // TestTables checks that there are few
			r.pairs[pair>>6] |= 1 << (pair & 63)
		}
		slot := r.slot[pair]
		r.probes[slot] = append(r.probes[slot], probe{lit: string(folded), at: at, look: look})
	}
}

// folded is typical as the search sees it.
var folded = strings.Map(func(c rune) rune { return c | 0x20 }, typical)

func occurrences(pair []byte) int { return strings.Count(folded, string(pair)) }

// matches reports whether there may be a secret in JSON text.
func (r *Redactor) matches(b []byte) bool {
	_, ok := r.find(&scan{b: b, raw: true, assign: true}, 0)
	return ok
}

// find returns a secret at or behind from.
func (r *Redactor) find(s *scan, from int) (found, bool) {
	b := s.b
	i := from
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:]) | fold
		if (r.pairs[uint16(w)>>6]>>(w&63)|r.pairs[uint16(w>>16)>>6]>>(w>>16&63)|
			r.pairs[uint16(w>>32)>>6]>>(w>>32&63)|r.pairs[w>>48>>6]>>(w>>48&63))&1 == 0 {
			continue
		}
		for k := range 4 {
			if f, ok := r.at(s, from, i+2*k, uint16(w>>(16*k))); ok {
				return f, true
			}
		}
	}
	for ; i+2 <= len(b); i += 2 {
		if f, ok := r.at(s, from, i, (uint16(b[i])|uint16(b[i+1])<<8)|0x2020); ok {
			return f, true
		}
	}
	return found{}, false
}

// at looks closely at the pair at s.b[i:].
func (r *Redactor) at(s *scan, from, i int, pair uint16) (found, bool) {
	slot := r.slot[pair]
	if slot == 0 {
		return found{}, false
	}
	probes := r.probes[slot]
	for k := range probes {
		p := &probes[k]
		start := i - p.at
		if start < from || start+len(p.lit) > len(s.b) || !sameFolded(s.b[start:], p.lit) {
			continue
		}
		if f, ok := p.look(r, s, start); ok {
			return f, true
		}
	}
	return found{}, false
}

func sameFolded(b []byte, lit string) bool {
	for i := range len(lit) {
		if b[i]|0x20 != lit[i] {
			return false
		}
	}
	return true
}

// edge reports whether no byte of the class stands before s.b[at]: in JSON the
// end of an escape, such as the n of \n, is no such byte.
func (s *scan) edge(at int, class func(byte) bool) bool {
	if at == 0 || !class(s.b[at-1]) {
		return true
	}
	return s.raw && (at >= 2 && s.b[at-2] == '\\' || at >= 6 && s.b[at-6] == '\\')
}

// escaped finds letters and digits that somebody took the trouble to escape. They
// may be part of anything, so the message is walked.
func (r *Redactor) escaped(s *scan, at int) (found, bool) {
	if !s.raw || at+6 > len(s.b) {
		return found{}, false
	}
	c, ok := hex4(s.b[at+2:])
	return found{}, ok && (isName(byte(c)) || slices.Contains([]rune(":/@."), c)) //nolint:gosec // below 256
}

// escapedSlash has a message walked for the sake of a literal with slashes.
func (r *Redactor) escapedSlash(s *scan, _ int) (found, bool) { return found{}, s.raw }
