package notify

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// secretRedactor removes the secrets of a channel from error texts.
type secretRedactor []string

// newSecretRedactor collects every part of the addresses that may be a secret, the longest
// first.
func newSecretRedactor(secrets ...string) secretRedactor {
	s := secretRedactor(slices.Clone(secrets))
	for _, secret := range secrets {
		u, err := url.Parse(secret)
		if err != nil {
			continue
		}
		password, _ := u.User.Password()
		s = append(s, u.User.String(), u.User.Username(), password, u.Hostname(), u.Path, u.RawQuery)
		s = append(s, strings.Split(u.Path, "/")...)
		for _, values := range u.Query() {
			s = append(s, values...)
		}
	}
	s = slices.DeleteFunc(s, func(part string) bool { return len(part) < 4 })
	slices.SortFunc(s, func(a, b string) int { return len(b) - len(a) })
	return s
}

var (
	urlPattern   = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)
	tokenPattern = regexp.MustCompile(`[A-Za-z0-9_\-]{24,}`)
)

// maxErrorChars limits the stored text of a failure.
const maxErrorChars = 200

// redact returns the error's text on one line, without addresses and secrets.
func (s secretRedactor) redact(err error) string {
	text := err.Error()
	var urlErr *url.Error
	if errors.As(err, &urlErr) { // the text of a url.Error starts with the address
		text = urlErr.Err.Error()
	}
	text = urlPattern.ReplaceAllString(text, "…")
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, "…")
	}
	text = tokenPattern.ReplaceAllString(text, "…")
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "")
	}
	return singleLine(text, maxErrorChars)
}
