package redact

import (
	"bytes"
	"slices"
)

// name is a sequence of words that makes what goes by it a secret.
type name struct {
	rule  string
	words []string // lower case; they match at the end of a name
	// suffix: the last word may be run together with others, as in PGPASSWORD.
	suffix  bool
	deep    bool // everything in an object of this name is secret
	numbers bool // a number is one too
}

func builtinNames() []name {
	one := func(rule string, words ...string) name { return name{rule: rule, words: words} }
	return []name{
		{rule: "password", words: []string{"password"}, suffix: true, numbers: true},
		{rule: "password", words: []string{"passwd"}, suffix: true, numbers: true},
		{rule: "password", words: []string{"passphrase"}, suffix: true},
		{rule: "password", words: []string{"passwords"}, deep: true, numbers: true},
		one("password", "mysql", "pwd"),
		{rule: "secret", words: []string{"secret"}, suffix: true},
		{rule: "secret", words: []string{"secrets"}, deep: true},
		{rule: "token", words: []string{"token"}, suffix: true},
		{rule: "api_key", words: []string{"apikey"}, suffix: true},
		one("api_key", "api", "key"),
		one("access_key", "access", "key"),
		one("access_key", "account", "key"),
		one("private_key", "private", "key"),
		one("private_key", "privatekey"),
		one("private_key", "signing", "key"),
		one("private_key", "encryption", "key"),
		{rule: "authorization", words: []string{"authorization"}, deep: true},
		{rule: "credentials", words: []string{"credential"}, deep: true},
		{rule: "credentials", words: []string{"credentials"}, deep: true},
		{rule: "cookie", words: []string{"cookie"}, deep: true},
		{rule: "cookie", words: []string{"cookies"}, deep: true},
		one("session", "session"),
		one("dsn", "dsn"),
		one("connection_string", "connection", "string"),
		one("connection_string", "connectionstring"),
	}
}

// customName is the rule for a name from the configuration. One of less than three
// letters could not be searched for.
func customName(key string) (name, bool) {
	var w words
	w.split([]byte(key))
	n := name{rule: "custom"}
	for i := range w.n {
		n.words = append(n.words, string(w.word(i)))
	}
	return n, len(n.words) > 0 && len(n.literal()) >= 3
}

// literal is the longest word, which every name that matches contains.
func (n *name) literal() string {
	return slices.MaxFunc(n.words, func(a, b string) int { return len(a) - len(b) })
}

// fillers are words behind which a secret name is still one: secret_key, password2.
var fillers = []string{"key", "value", "val", "hash", "raw", "header", "base64", "b64", "plain", "plaintext", "encrypted"}

// longestName is how much of a name is looked at, from its end.
const longestName = 64

// words are the words of a name, the last ones if there are many: api_key, apiKey,
// API-KEY and APIKey are all api, key.
type words struct {
	buf    [longestName]byte
	bounds [12]struct{ from, to int8 }
	n      int
}

func (w *words) word(i int) []byte { return w.buf[w.bounds[i].from:w.bounds[i].to] }

func (w *words) split(id []byte) {
	id = id[max(0, len(id)-longestName):]
	for i, c := range id {
		w.buf[i] = lower(c)
	}
	for i := 0; i < len(id); {
		if !isAlnum(id[i]) {
			i++
			continue
		}
		end := wordEnd(id, i)
		if w.n == len(w.bounds) {
			copy(w.bounds[:], w.bounds[1:])
			w.n--
		}
		w.bounds[w.n].from, w.bounds[w.n].to = int8(i), int8(end)
		w.n++
		i = end
	}
}

func wordEnd(id []byte, from int) int {
	end := from + 1
	for ; end < len(id) && isAlnum(id[end]); end++ {
		next := end+1 < len(id) && isLower(id[end+1])
		switch before, c := id[end-1], id[end]; {
		case isLower(before) && isUpper(c), isUpper(before) && isUpper(c) && next, isDigit(before) && isUpper(c):
			return end
		}
	}
	// Digits at the end are a word of their own (password2), others are part of
	// theirs (base64).
	digits := end
	for digits > from && isDigit(id[digits-1]) {
		digits--
	}
	if digits < end && digits > from && !slices.Contains(fillers, string(bytes.ToLower(id[from:end]))) {
		return digits
	}
	return end
}

// nameOf is the rule for what goes by this name, or nil.
func (r *Redactor) nameOf(id []byte) *name {
	if len(id) < 3 {
		return nil
	}
	var w words
	w.split(id)
	for end := w.n; end > 0; end-- {
		for i := range r.names {
			if r.names[i].matches(&w, end) {
				return &r.names[i]
			}
		}
		if last := w.word(end - 1); !isDigit(last[0]) && !slices.Contains(fillers, string(last)) {
			return nil
		}
	}
	return nil
}

func (n *name) matches(w *words, end int) bool {
	from := end - len(n.words)
	if from < 0 {
		return false
	}
	for i, want := range n.words {
		have := w.word(from + i)
		if string(have) != want && !(n.suffix && len(have) > len(want) && string(have[len(have)-len(want):]) == want) {
			return false
		}
	}
	return true
}

// lastName is the name that a member's name ends with: all of it, ordinarily.
func lastName(member []byte) []byte {
	from := len(member)
	for from > 0 && len(member)-from < longestName && isName(member[from-1]) {
		from--
	}
	return member[from:]
}
