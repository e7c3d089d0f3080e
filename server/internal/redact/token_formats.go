package redact

import "bytes"

// tokenFormat describes tokens with a known prefix.
type tokenFormat struct {
	rule, prefixes string
	body           func(byte) bool
	minLength      int  // bytes after the prefix
	needsDigit     bool // one of them must be a digit, to distinguish keys from names with dashes
}

var tokenFormats = []tokenFormat{
	{"aws_key", "AKIA ASIA", isUpperDigit, 16, false},
	{"github_token", "ghp_ gho_ ghu_ ghs_ ghr_", isAlnum, 20, false},
	{"github_token", "github_pat_", isName, 22, false},
	{"gitlab_token", "glpat- gldt- glrt- glptt- glcbt- glft- glimt- glagent- gloas- glsoat-", isDotted, 16, false},
	{"slack_token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxc- xoxd- xapp- xwfp-", isName, 10, true},
	{"slack_webhook", "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/", isToken68, 8, false},
	{"sk_key", "sk-", isName, 20, true}, // OpenAI, Anthropic and compatible providers
	{"stripe_key", "sk_live_ sk_test_ rk_live_ rk_test_", isAlnum, 10, false},
	{"stripe_key", "whsec_", isToken68, 16, false},
	{"google_key", "AIza", isName, 30, false},
	{"google_key", "ya29. GOCSPX-", isDotted, 20, false},
	{"npm_token", "npm_", isAlnum, 30, false},
	{"vault_token", "hvs. hvb. hvr.", isName, 20, false},
	{"shopify_token", "shpat_ shpca_ shppa_ shpss_", isAlnum, 32, false},
	{"digitalocean_token", "dop_v1_ doo_v1_ dor_v1_", isAlnum, 40, false},
	{"pypi_token", "pypi-AgE", isName, 30, false},
	{"docker_token", "dckr_pat_ dckr_oat_", isName, 20, false},
	{"linear_key", "lin_api_ lin_oauth_", isAlnum, 32, false},
	{"grafana_token", "glsa_ glc_", isToken68, 32, false},
	{"sentry_token", "sntrys_ sntryu_", isToken68, 32, false},
	{"hf_token", "hf_", isAlnum, 30, false},
	{"xai_key", "xai-", isAlnum, 60, false},
	{"groq_key", "gsk_", isAlnum, 40, false},
	{"replicate_token", "r8_", isAlnum, 35, false},
	{"age_key", "AGE-SECRET-KEY-1", isUpperDigit, 50, false},
	{"supabase_token", "sbp_", isAlnum, 40, false},
	{"notion_token", "ntn_", isAlnum, 40, false},
	{"tailscale_key", "tskey-", isName, 20, true},
	{"nvidia_key", "nvapi-", isName, 40, false},
	{"figma_token", "figd_", isName, 30, false},
	{"rubygems_key", "rubygems_", isAlnum, 40, false},
	{"atlassian_token", "ATATT3 ATCTT3", isToken68, 30, false},
	{"square_token", "sq0atp- sq0csp-", isName, 20, false},
	{"databricks_token", "dapi", isAlnum, 32, true},
	{"sendgrid_key", "SG.", isDotted, 60, false},
	{"discord_webhook", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", isToken68, 30, false},
}

func isUpperDigit(c byte) bool { return isUpper(c) || isDigit(c) }
func isDotted(c byte) bool     { return isName(c) || c == '.' }

func (sh *tokenFormat) find(s *scan, at int, prefix string) (match, bool) {
	body := at + len(prefix)
	if string(s.b[at:body]) != prefix {
		return match{}, false
	}
	// If the body may contain the dash of the prefix, a match must not begin inside a word
	// ("task-…"). This also keeps the search linear.
	before := isAlnum
	if sh.body('-') {
		before = isName
	}
	if !s.atBoundary(at, before) {
		return match{}, false
	}
	end := skipWhile(s.b, body, sh.body)
	if end-body < sh.minLength || sh.needsDigit && !bytes.ContainsAny(s.b[body:end], "0123456789") {
		return match{}, s.isCut(end)
	}
	return match{from: at, to: end, rule: sh.rule}, true
}

// findTelegram finds the token of a bot: its number, a colon and 35 characters.
func (r *Redactor) findTelegram(s *scan, at int) (match, bool) {
	from := at
	for from > 0 && at-from < 12 && isDigit(s.b[from-1]) {
		from--
	}
	end := skipWhile(s.b, at+1, isName)
	return match{from: at + 1, to: end, rule: "telegram_token"}, at-from >= 8 && at-from <= 10 && (end-at >= 34 || s.isCut(end))
}

// findJWT finds a JSON Web Token: three (signed) or five (encrypted) parts in base64url.
func (r *Redactor) findJWT(s *scan, at int) (match, bool) {
	if string(s.b[at:at+3]) != "eyJ" || !s.atBoundary(at, isName) {
		return match{}, false
	}
	end := skipWhile(s.b, at, isName)
	if end-at < 8 {
		return match{}, false
	}
	parts := 1
	for parts < 5 && end+1 < len(s.b) && s.b[end] == '.' {
		next := skipWhile(s.b, end+1, isName)
		if next == end+1 && parts != 1 { // only the second part may be empty
			break
		}
		end, parts = next, parts+1
	}
	return match{from: at, to: end, rule: "jwt"}, parts >= 3
}

const privateKeyRule = "private_key"

// maxPrivateKeyBytes limits the search for the end of a private key.
const maxPrivateKeyBytes = 16 << 10

// findPrivateKey finds a PEM private key. A truncated one ends with its base64.
func (r *Redactor) findPrivateKey(s *scan, at int) (match, bool) {
	const begin = "-----BEGIN "
	head := s.b[at+len(begin):]
	title, _, ok := bytes.Cut(head[:min(len(head), 80)], []byte("-----"))
	if !ok || !bytes.HasPrefix(s.b[at:], []byte(begin)) || !bytes.Contains(title, []byte("PRIVATE KEY")) {
		return match{}, false
	}
	body := at + len(begin) + len(title) + 5
	rest := s.b[body:min(len(s.b), body+maxPrivateKeyBytes)]
	const end = "-----END "
	if i := bytes.Index(rest, []byte(end)); i >= 0 {
		to := body + i + len(end)
		to = skipWhile(s.b, to, func(c byte) bool { return isUpper(c) || c == ' ' })
		return match{from: at, to: skipWhile(s.b, to, func(c byte) bool { return c == '-' }), rule: privateKeyRule}, true
	}
	isBody := func(c byte) bool { return isToken68(c) || isSpace(c) || c == '\\' || c == ':' || c == ',' }
	return match{from: at, to: skipWhile(s.b, body, isBody), rule: privateKeyRule}, true
}

// findUserinfo finds the password in a URL (user:password@host), or a long user name with
// digits, which is a token.
func (r *Redactor) findUserinfo(s *scan, at int) (match, bool) {
	from := at + len("://")
	if placeholderLen(s.b[from:]) > 0 {
		return match{}, false
	}
	end, colon, host := from, -1, -1
	for ; end < len(s.b) && end < from+512; end++ {
		c := s.b[end]
		if c <= ' ' || bytes.IndexByte([]byte(`/?#"'<>\`+"`"), c) >= 0 {
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
		return match{}, false
	}
	rule := "url_password"
	if colon >= 0 && colon < host {
		from = colon + 1
	} else if rule = "url_token"; host-from < 20 || !bytes.ContainsAny(s.b[from:host], "0123456789") {
		return match{}, false
	}
	if from == host || placeholderLen(s.b[from:host]) > 0 || bytes.IndexByte([]byte("${<"), s.b[from]) >= 0 {
		return match{}, false
	}
	return match{from: from, to: host, rule: rule}, true
}

// findBearer finds the token of an Authorization header in any text.
func (r *Redactor) findBearer(s *scan, at int) (match, bool) {
	if !s.atBoundary(at, isAlnum) {
		return match{}, false
	}
	from := at + len("bearer ")
	for from < len(s.b) && s.b[from] == ' ' && from < at+12 {
		from++
	}
	end := skipWhile(s.b, from, isToken68)
	long := end-from >= 20 || end-from >= 8 && bytes.ContainsAny(s.b[from:end], "0123456789")
	return match{from: from, to: end, rule: "bearer"}, long || s.isCut(end)
}
