package redact

import (
	"bytes"
	"slices"
)

// keyName is a rule for names: a value whose name ends with these words is a secret.
type keyName struct {
	rule  string
	words []string // lower case
	// suffix permits other letters before the last word, as in PGPASSWORD.
	suffix  bool
	deep    bool // every value in an object of this name is secret
	numbers bool // numbers are secret, too
}

func builtinKeyNames() []keyName {
	one := func(rule string, words ...string) keyName { return keyName{rule: rule, words: words} }
	return []keyName{
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

// customKeyName returns the rule for a configured name. A name without a word of at least three
// letters can't be searched for.
func customKeyName(key string) (keyName, bool) {
	var w nameWords
	w.split([]byte(key))
	n := keyName{rule: "custom"}
	for i := range w.n {
		n.words = append(n.words, string(w.word(i)))
	}
	return n, len(n.words) > 0 && len(n.longestWord()) >= 3
}

// longestWord returns the longest word. Every matching name contains it.
func (n *keyName) longestWord() string {
	return slices.MaxFunc(n.words, func(a, b string) int { return len(a) - len(b) })
}

// trailingWords may follow a secret name: secret_key, password2.
var trailingWords = []string{"key", "value", "val", "hash", "raw", "header", "base64", "b64", "plain", "plaintext", "encrypted"}

// maxNameBytes limits how much of a name is read, counted from its end.
const maxNameBytes = 64

// nameWords holds the last words of a name: api_key, apiKey, API-KEY and APIKey are all api,
// key.
type nameWords struct {
	buf    [maxNameBytes]byte
	bounds [12]struct{ from, to int8 }
	n      int
}

func (w *nameWords) word(i int) []byte { return w.buf[w.bounds[i].from:w.bounds[i].to] }

func (w *nameWords) split(id []byte) {
	id = id[max(0, len(id)-maxNameBytes):]
	for i, c := range id {
		w.buf[i] = toLower(c)
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
	// Digits at the end are a separate word (password2); digits inside are part of a word
	// (base64).
	digits := end
	for digits > from && isDigit(id[digits-1]) {
		digits--
	}
	if digits < end && digits > from && !slices.Contains(trailingWords, string(bytes.ToLower(id[from:end]))) {
		return digits
	}
	return end
}

// keyNameOf returns the rule that the name matches, or nil.
func (r *Redactor) keyNameOf(id []byte) *keyName {
	if len(id) < 3 {
		return nil
	}
	var w nameWords
	w.split(id)
	for end := w.n; end > 0; end-- {
		for i := range r.names {
			if r.names[i].matches(&w, end) {
				return &r.names[i]
			}
		}
		if last := w.word(end - 1); !isDigit(last[0]) && !slices.Contains(trailingWords, string(last)) {
			return nil
		}
	}
	return nil
}

func (n *keyName) matches(w *nameWords, end int) bool {
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

// trailingName returns the identifier that a member's name ends with, usually the whole name.
func trailingName(member []byte) []byte {
	from := len(member)
	for from > 0 && len(member)-from < maxNameBytes && isName(member[from-1]) {
		from--
	}
	return member[from:]
}
