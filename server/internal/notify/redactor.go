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
	var s secretRedactor
	addPart := func(part string) {
		if len(part) >= 4 && !slices.Contains(s, part) {
			s = append(s, part)
		}
	}
	for _, secret := range secrets {
		addPart(secret)
		u, err := url.Parse(secret)
		if err != nil {
			continue
		}
		password, _ := u.User.Password()
		for _, part := range []string{u.User.String(), u.User.Username(), password, u.Hostname(), u.Path, u.RawQuery} {
			addPart(part)
		}
		for part := range strings.SplitSeq(u.Path, "/") {
			addPart(part)
		}
		for _, values := range u.Query() {
			for _, v := range values {
				addPart(v)
			}
		}
	}
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
