package mcp

import "regexp"

// secretThing names what must not be collected in an answer: it would be stored, and
// shown to everyone who may look.
const secretThing = `(?:pass ?words?|pass ?phrases?|api[ -]?keys?|access[ -]?keys?|private[ -]?keys?|secret[ -]?keys?|client[ -]?secrets?|(?:access|auth|bearer|refresh|session)?[ -]?tokens?|credentials?|secrets?|one[ -]time codes?|otp|2fa codes?|verification codes?|pin(?: code| number)?|cvv|cvc|(?:credit )?card numbers?|(?:seed|recovery) phrases?|ssh keys?)` //nolint:gosec // names of secrets, none itself

// handOver are the words with which somebody asks to be given a thing.
const handOver = `(?:enter|paste|provide|give|send|share|type|tell|supply|input|submit|fill in|let me have|i need|we need|may i have|can i have|what(?:'s| is| are))`

var (
	handOverASecret = regexp.MustCompile(`(?i)\b` + handOver + `\b(?:\s+(?:me|us|in|the|your|my|our|a|an|its|their|this|that|please|here|of|for|to|db|database|admin|root|user|production|[\w.-]{1,30}'s|[A-Za-z0-9_.-]{1,20})){0,4}\s+` + secretThing + `\b`)
	onlyASecret     = regexp.MustCompile(`(?i)^\W*(?:(?:your|the|[\w.-]{1,20})\s+){0,3}` + secretThing + `\W*$`)
	// about is a question about a secret that does not ask for it.
	about = regexp.MustCompile(`(?i)\b` + secretThing + `\b\s+(?:expir|length|policy|policies|format|name|names|lifetime|rotation|budget|limit|limits|count|usage|storage|manager|provider|scheme|type|types|strategy|flow|be\b|should\b)`)
)

// asksForASecret reports whether a question wants a password or the like as its answer.
// It is a help against mistakes, not a boundary: words can always be found.
func asksForASecret(question string) bool {
	if onlyASecret.MatchString(question) {
		return true
	}
	return handOverASecret.MatchString(about.ReplaceAllString(question, " "))
}
