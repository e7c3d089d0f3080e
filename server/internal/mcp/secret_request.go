package mcp

import "regexp"

// secretNounPattern matches names of secrets. An answer must not contain one: it would be
// stored and shown to everyone with access to the dashboard.
const secretNounPattern = `(?:pass ?words?|pass ?phrases?|api[ -]?keys?|access[ -]?keys?|private[ -]?keys?|secret[ -]?keys?|client[ -]?secrets?|(?:access|auth|bearer|refresh|session)?[ -]?tokens?|credentials?|secrets?|one[ -]time codes?|otp|2fa codes?|verification codes?|pin(?: code| number)?|cvv|cvc|(?:credit )?card numbers?|(?:seed|recovery) phrases?|ssh keys?)` //nolint:gosec // names of secrets, none itself

// secretRequestPattern matches phrases that ask for something.
const secretRequestPattern = `(?:enter|paste|provide|give|send|share|type|tell|supply|input|submit|fill in|let me have|i need|we need|may i have|can i have|what(?:'s| is| are))`

var (
	secretRequest = regexp.MustCompile(`(?i)\b` + secretRequestPattern + `\b(?:\s+(?:me|us|in|the|your|my|our|a|an|its|their|this|that|please|here|of|for|to|db|database|admin|root|user|production|[\w.-]{1,30}'s|[A-Za-z0-9_.-]{1,20})){0,4}\s+` + secretNounPattern + `\b`)
	secretOnly    = regexp.MustCompile(`(?i)^\W*(?:(?:your|the|[\w.-]{1,20})\s+){0,3}` + secretNounPattern + `\W*$`)
	// aboutSecret matches questions about a secret that do not ask for it.
	aboutSecret = regexp.MustCompile(`(?i)\b` + secretNounPattern + `\b\s+(?:expir|length|policy|policies|format|name|names|lifetime|rotation|budget|limit|limits|count|usage|storage|manager|provider|scheme|type|types|strategy|flow|be\b|should\b)`)
)

// asksForSecret reports whether a question asks for a password or another secret. It
// prevents mistakes and is no security boundary: it is easy to rephrase a question.
func asksForSecret(question string) bool {
	if secretOnly.MatchString(question) {
		return true
	}
	return secretRequest.MatchString(aboutSecret.ReplaceAllString(question, " "))
}
