package mcp

import (
	"regexp"
	"sync"
)

// secretNounPattern matches names of secrets. An answer must not contain one: it would be
// stored and shown to everyone with access to the dashboard.
const secretNounPattern = `(?:pass ?words?|pass ?phrases?|api[ -]?keys?|access[ -]?keys?|private[ -]?keys?|secret[ -]?keys?|client[ -]?secrets?|(?:access|auth|bearer|refresh|session)?[ -]?tokens?|credentials?|secrets?|one[ -]time codes?|otp|2fa codes?|verification codes?|pin(?: code| number)?|cvv|cvc|(?:credit )?card numbers?|(?:seed|recovery) phrases?|ssh keys?)` //nolint:gosec // names of secrets, none itself

// secretRequestPattern matches phrases that ask for something.
const secretRequestPattern = `(?:enter|paste|provide|give|send|share|type|tell|supply|input|submit|fill in|let me have|i need|we need|may i have|can i have|what(?:'s| is| are))`

// secretPatterns are compiled at the first question: that takes a twentieth of the CPU time of the start of a hub.
var secretPatterns = sync.OnceValue(func() (p struct{ request, only, about *regexp.Regexp }) {
	p.request = regexp.MustCompile(`(?i)\b` + secretRequestPattern + `\b(?:\s+(?:me|us|in|the|your|my|our|a|an|its|their|this|that|please|here|of|for|to|db|database|admin|root|user|production|[\w.-]{1,30}'s|[A-Za-z0-9_.-]{1,20})){0,4}\s+` + secretNounPattern + `\b`)
	p.only = regexp.MustCompile(`(?i)^\W*(?:(?:your|the|[\w.-]{1,20})\s+){0,3}` + secretNounPattern + `\W*$`)
	// about matches questions about a secret that do not ask for it.
	p.about = regexp.MustCompile(`(?i)\b` + secretNounPattern + `\b\s+(?:expir|length|policy|policies|format|name|names|lifetime|rotation|budget|limit|limits|count|usage|storage|manager|provider|scheme|type|types|strategy|flow|be\b|should\b)`)
	return p
})

// asksForSecret reports whether a question asks for a password or another secret. It
// prevents mistakes and is no security boundary: it is easy to rephrase a question.
func asksForSecret(question string) bool {
	p := secretPatterns()
	return p.only.MatchString(question) || p.request.MatchString(p.about.ReplaceAllString(question, " "))
}
