package redact

import (
	"bytes"
	"cmp"
	"slices"
)

// keyName is a rule for names: a value whose name ends with these words is a secret.
type keyName struct {
	rule string
	// words are lower case, without separators. Every matching name contains the literal, whatever its
	// separators are; empty: words.
	words, literal string
	// suffix permits other letters before the first word, as in PGPASSWORD.
	suffix  bool
	follows bool // another word comes first, as in DB_PASS
	deep    bool // every value in an object of this name is secret
	numbers bool // numbers are secret, too
}

var keyNames = []keyName{
	{rule: "password", words: "password", suffix: true, numbers: true},
	{rule: "password", words: "passwd", suffix: true, numbers: true},
	{rule: "password", words: "passphrase", suffix: true},
	{rule: "password", words: "pass", follows: true},
	{rule: "password", words: "passwords", deep: true, numbers: true},
	{rule: "password", words: "mysqlpwd", literal: "mysql"},
	{rule: "password", words: "pwd", follows: true},
	{rule: "password", words: "sshpass"},
	{rule: "password", words: "storepass"},
	{rule: "password", words: "keypass"},
	{rule: "secret", words: "secret", suffix: true},
	{rule: "secret", words: "secrets", deep: true},
	{rule: "token", words: "token", suffix: true},
	{rule: "api_key", words: "apikey", literal: "api", suffix: true},
	{rule: "api_key", words: "subscriptionkey", literal: "subscription"},
	{rule: "api_key", words: "authkey", literal: "auth"},
	{rule: "access_key", words: "accesskey", literal: "access"},
	{rule: "access_key", words: "accountkey", literal: "account"},
	{rule: "private_key", words: "privatekey", literal: "private"},
	{rule: "private_key", words: "signingkey", literal: "signing"},
	{rule: "private_key", words: "encryptionkey", literal: "encryption"},
	{rule: "authorization", words: "authorization", deep: true},
	{rule: "credentials", words: "credential", deep: true},
	{rule: "credentials", words: "credentials", deep: true},
	{rule: "cookie", words: "cookie", deep: true},
	{rule: "cookie", words: "cookies", deep: true},
	{rule: "session", words: "session"},
	{rule: "dsn", words: "dsn"},
	{rule: "connection_string", words: "connectionstring", literal: "connection"},
}

// trailingWords may follow a secret name: secret_key, password2.
var trailingWords = []string{"key", "value", "val", "hash", "raw", "header", "base64", "b64", "plain", "plaintext", "encrypted", "string"}

// passWords come before a "pass" or "pwd" that is not a password.
var passWords = []string{"by", "first", "second", "last", "one", "two", "multi", "single", "did", "all", "tests", "com", "sur"}

// maxNameBytes limits how much of a name is read, counted from its end.
const maxNameBytes = 64

// nameWords holds the last words of a name: api_key, apiKey, API-KEY and APIKey are all api,
// key.
type nameWords struct {
	text [maxNameBytes]byte // lower case, without separators
	ends [maxNameBytes + 1]int8
	n    int // words; word i is text[ends[i]:ends[i+1]]
}

func (w *nameWords) word(i int) []byte { return w.text[w.ends[i]:w.ends[i+1]] }

func (w *nameWords) split(id []byte) {
	id = id[max(0, len(id)-maxNameBytes):]
	for i := 0; i < len(id); {
		if !isAlnum(id[i]) {
			i++
			continue
		}
		end, at := nameWordEnd(id, i), w.ends[w.n]
		for ; i < end; i++ {
			w.text[at] = id[i] | 0x20 // in lower case
			at++
		}
		w.n++
		w.ends[w.n] = at
	}
}

func nameWordEnd(id []byte, from int) int {
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
func keyNameOf(id []byte) *keyName {
	if len(id) < 3 {
		return nil
	}
	var w nameWords
	w.split(id)
	for n := w.n; n > 0; n-- {
		for i := range keyNames {
			if keyNames[i].matches(&w, n) {
				return &keyNames[i]
			}
		}
		if last := w.word(n - 1); !isDigit(last[0]) && !slices.Contains(trailingWords, string(last)) {
			return nil
		}
	}
	return nil
}

// literalText returns the text that every matching name contains.
func (n *keyName) literalText() string { return cmp.Or(n.literal, n.words) }

// mayBe reports whether a value may be a secret: that of *_PWD is often a directory.
func (n *keyName) mayBe(value []byte) bool {
	return n.words != "pwd" || len(value) == 0 || bytes.IndexByte([]byte("/.~"), value[0]) < 0
}

// matches reports whether the first words of a name end with those of the rule.
func (n *keyName) matches(w *nameWords, words int) bool {
	name := w.text[:w.ends[words]]
	from := len(name) - len(n.words)
	if from < 0 || string(name[from:]) != n.words {
		return false
	}
	if n.follows && (from == 0 || slices.Contains(passWords, string(name[:from]))) {
		return false
	}
	startsWord := n.suffix
	for _, start := range w.ends[:words] {
		at := int(start) - from
		if at > 0 && at < len(n.literalText()) {
			return false // pass_word
		}
		startsWord = startsWord || at == 0
	}
	return startsWord
}

// trailingName returns the identifier that a member's name ends with, usually the whole name.
func trailingName(member []byte) []byte {
	from := len(member)
	for from > 0 && len(member)-from < maxNameBytes && isName(member[from-1]) {
		from--
	}
	return member[from:]
}
