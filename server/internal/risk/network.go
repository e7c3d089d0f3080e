package risk

import (
	"net/url"
	"slices"
	"strings"
)

var (
	sendsData    = rule{"network_write", medium, "It sends data to a server, or changes something there."}
	sendsFiles   = rule{"network_write", medium, "It copies files to another machine."}
	talks        = rule{"network_write", medium, "It opens a bare connection to another machine."}
	reverseShell = rule{"network_write", critical, "It lets another machine run commands on this one."}
	sendsSecret  = rule{"sends_secret", critical, "It sends a file that usually holds secrets to another machine."}
	metadata     = rule{"reads_secret", high, "It asks a cloud machine for its own credentials."}
)

func isRemote(p string) bool {
	at := strings.IndexByte(p, ':')
	return at > 1 && !strings.ContainsAny(p[:at], "/$") || strings.HasPrefix(p, "rsync://") || strings.HasPrefix(p, "scp://")
}

// sends judges words that are sent: of a file that holds secrets more is said.
func (j *judge) sends(r *run, bad rule) {
	for i := range r.args {
		text := r.args[i].text
		if at := strings.IndexByte(text, '@'); at >= 0 && at < 64 {
			text = text[at+1:]
		}
		if _, ok := secretFile(text); ok {
			bad = sendsSecret
		}
	}
	j.add(bad, r.span)
}

func (j *judge) curl(r *run) {
	method := ""
	if w := r.value("-X", "--request"); w != nil {
		method = w.text
	}
	for i := range r.args {
		if m, ok := strings.CutPrefix(r.args[i].text, "-X"); ok && m != "" {
			method = m
		}
	}
	data := curlData.among(r.args) && !term{"-G", "--get"}.among(r.args)
	get := slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, strings.ToUpper(method))
	local := slices.ContainsFunc(r.args, func(w word) bool { return isLocal(w.text) })
	if (method != "" || data) && !get && !local || data && j.readsSecretArg(r) {
		j.sends(r, sendsData)
	}
	if to := r.value("-o", "--output", "--output-dir"); to != nil {
		j.writes(r.dir, to, r.span)
	}
}

var curlData = term{
	"-d", "-F", "-T", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--data-ascii", "--form", "--form-string", "--upload-file", "--json",
}

func (j *judge) readsSecretArg(r *run) bool {
	return slices.ContainsFunc(r.args, func(w word) bool {
		_, file, ok := strings.Cut(w.text, "@")
		_, secret := secretFile(file)
		return ok && secret
	})
}

// isLocal reports whether a URL names this machine: what is sent there stays here.
func isLocal(text string) bool {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "http://"), "https://")
	for _, host := range []string{"localhost", "127.0.0.1", "[::1]", "0.0.0.0"} {
		if rest, ok := strings.CutPrefix(text, host); ok && (rest == "" || rest[0] == ':' || rest[0] == '/') {
			return true
		}
	}
	return false
}

func (j *judge) wget(r *run) {
	if to := r.value("-O", "-P", "--output-document", "--directory-prefix"); to != nil && to.text != "-" {
		j.writes(r.dir, to, r.span)
	}
}

// address judges the URL of a tool that fetches.
func (j *judge) address(x span) {
	u, err := url.Parse(strings.TrimSpace(x.text()))
	if err != nil {
		return
	}
	host := u.Hostname()
	switch {
	case answersRequest(u.Path):
		j.add(answersHub, x)
	case host == "169.254.169.254" || host == "metadata.google.internal":
		j.add(metadata, x)
	case u.Scheme == "file":
		if level, ok := secretFile(u.Path); ok {
			j.add(level, x)
		}
	case strings.Contains(host, "xn--"):
		j.add(lookAlike, x)
	}
}

func (j *judge) copiesAway(r *run) {
	list := r.operands("-i", "-P", "-p", "-o", "-F", "-e", "--rsh", "--exclude", "--include", "-J")
	if n := len(list); n > 1 && isRemote(list[n-1].text) {
		j.sends(r, sendsFiles)
	}
}

// uploads is for what goes to a bucket.
func (j *judge) uploads(r *run) {
	list := r.operands("--profile", "--region", "--acl", "--exclude", "--include")
	if n := len(list); n > 2 && slices.Contains([]string{"cp", "mv", "sync", "rsync"}, list[n-3].text) && hasScheme(list[n-1].text, "s3", "gs") && !hasScheme(list[n-2].text, "s3", "gs") {
		j.sends(r, sendsData)
	}
}

func hasScheme(text string, schemes ...string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && slices.Contains(schemes, scheme)
}
