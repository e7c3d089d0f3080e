package redact

import "bytes"

// shape is a token that is known by its prefix.
type shape struct {
	rule, prefix string
	body         func(byte) bool
	least        int  // bytes behind the prefix
	digit        bool // one of them is a digit: tells a key from a name with dashes
}

var shapes = []shape{
	{"aws_key", "AKIA", isUpperDigit, 16, false},
	{"aws_key", "ASIA", isUpperDigit, 16, false},
	{"github_token", "ghp_", isAlnum, 20, false},
	{"github_token", "gho_", isAlnum, 20, false},
	{"github_token", "ghu_", isAlnum, 20, false},
	{"github_token", "ghs_", isAlnum, 20, false},
	{"github_token", "ghr_", isAlnum, 20, false},
	{"github_token", "github_pat_", isToken, 22, false},
	{"gitlab_token", "glpat-", isDotted, 16, false},
	{"gitlab_token", "gldt-", isDotted, 16, false},
	{"gitlab_token", "glrt-", isDotted, 16, false},
	{"gitlab_token", "glptt-", isDotted, 16, false},
	{"gitlab_token", "glcbt-", isDotted, 16, false},
	{"slack_token", "xoxb-", isToken, 10, true},
	{"slack_token", "xoxp-", isToken, 10, true},
	{"slack_token", "xoxa-", isToken, 10, true},
	{"slack_token", "xoxr-", isToken, 10, true},
	{"slack_token", "xoxs-", isToken, 10, true},
	{"slack_token", "xoxe-", isToken, 10, true},
	{"slack_token", "xapp-", isToken, 10, true},
	{"slack_webhook", "hooks.slack.com/services/", isLoose, 8, false},
	{"sk_key", "sk-", isToken, 20, true}, // OpenAI, Anthropic and those that speak like them
	{"stripe_key", "sk_live_", isAlnum, 10, false},
	{"stripe_key", "sk_test_", isAlnum, 10, false},
	{"stripe_key", "rk_live_", isAlnum, 10, false},
	{"stripe_key", "rk_test_", isAlnum, 10, false},
	{"stripe_key", "whsec_", isLoose, 16, false},
	{"google_key", "AIza", isToken, 30, false},
	{"google_key", "ya29.", isToken, 20, false},
	{"google_key", "GOCSPX-", isToken, 20, false},
	{"npm_token", "npm_", isAlnum, 30, false},
}

func isUpperDigit(c byte) bool { return isUpper(c) || isDigit(c) }
func isDotted(c byte) bool     { return isName(c) || c == '.' }

func (sh shape) look(_ *Redactor, s *scan, at int) (found, bool) {
	body := at + len(sh.prefix)
	if string(s.b[at:body]) != sh.prefix {
		return found{}, false
	}
	// A class that has the prefix's own dash must not begin in the middle of a
	// word ("task-…"): besides, the search stays linear that way.
	before := isAlnum
	if sh.body('-') {
		before = isToken
	}
	if !s.edge(at, before) {
		return found{}, false
	}
	end := run(s.b, body, sh.body)
	if s.raw && end+1 < len(s.b) && s.b[end] == '\\' && s.b[end+1] == '/' {
		return found{}, true // base64 with escaped slashes: the walk will tell
	}
	if end-body < sh.least || sh.digit && !bytes.ContainsAny(s.b[body:end], "0123456789") {
		return found{}, false
	}
	return found{at, end, sh.rule}, true
}

// jwt finds a JSON Web Token: three (signed) or five (encrypted) parts of base64url.
func (r *Redactor) jwt(s *scan, at int) (found, bool) {
	if string(s.b[at:at+3]) != "eyJ" || !s.edge(at, isToken) {
		return found{}, false
	}
	end := run(s.b, at, isToken)
	if end-at < 8 {
		return found{}, false
	}
	parts := 1
	for parts < 5 && end+1 < len(s.b) && s.b[end] == '.' {
		next := run(s.b, end+1, isToken)
		if next == end+1 && parts != 1 { // only the second part may be empty
			break
		}
		end, parts = next, parts+1
	}
	return found{at, end, "jwt"}, parts >= 3
}

// longestKey is how far the end of a private key is looked for.
const longestKey = 16 << 10

// privateKey finds a PEM private key. One that is cut off ends with its base64.
func (r *Redactor) privateKey(s *scan, at int) (found, bool) {
	const begin = "-----BEGIN "
	head := s.b[at+len(begin):]
	title, _, ok := bytes.Cut(head[:min(len(head), 80)], []byte("-----"))
	if !ok || !bytes.HasPrefix(s.b[at:], []byte(begin)) || !bytes.Contains(title, []byte("PRIVATE KEY")) {
		return found{}, false
	}
	body := at + len(begin) + len(title) + 5
	rest := s.b[body:min(len(s.b), body+longestKey)]
	const end = "-----END "
	if i := bytes.Index(rest, []byte(end)); i >= 0 {
		to := body + i + len(end)
		to = run(s.b, to, func(c byte) bool { return isUpper(c) || c == ' ' })
		return found{at, run(s.b, to, func(c byte) bool { return c == '-' }), "private_key"}, true
	}
	return found{at, run(s.b, body, func(c byte) bool { return isLoose(c) || isSpace(c) || c == '\\' || c == ':' || c == ',' }), "private_key"}, true
}

// userinfo finds the password of a URL, user:password@host, or a long user name
// with digits, which is a token.
func (r *Redactor) userinfo(s *scan, at int) (found, bool) {
	from := at + 3
	if s.b[at+1] == '\\' {
		from = at + 5
	}
	if markLen(s.b[from:]) > 0 {
		return found{}, false
	}
	end, colon, host := from, -1, -1
	for ; end < len(s.b) && end < from+512; end++ {
		c := s.b[end]
		if c <= ' ' || bytes.IndexByte([]byte(`/?#"'<>`+"`"), c) >= 0 || c == '\\' && !s.raw {
			break
		}
		if c == ':' && colon < 0 {
			colon = end
		}
		if c == '@' {
			host = end
		}
	}
	if host < 0 {
		return found{}, false
	}
	rule := "url_password"
	if colon >= 0 && colon < host {
		from = colon + 1
	} else if rule = "url_token"; host-from < 20 || !bytes.ContainsAny(s.b[from:host], "0123456789") {
		return found{}, false
	}
	if from == host || markLen(s.b[from:host]) > 0 || bytes.IndexByte([]byte("${<"), s.b[from]) >= 0 {
		return found{}, false
	}
	return found{from, host, rule}, true
}

// bearer finds the token of an Authorization header, wherever it is written down.
func (r *Redactor) bearer(s *scan, at int) (found, bool) {
	if !s.edge(at, isAlnum) {
		return found{}, false
	}
	from := at + len("bearer ")
	for from < len(s.b) && s.b[from] == ' ' && from < at+12 {
		from++
	}
	end := run(s.b, from, isLoose)
	long := end-from >= 20 || end-from >= 8 && bytes.ContainsAny(s.b[from:end], "0123456789")
	if s.raw && end < len(s.b) && s.b[end] == '\\' {
		long = true // an escaped slash: the walk will tell
	}
	return found{from, end, "bearer"}, long
}
