package risk

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
)

var (
	sendsData     = rule{"network_write", medium, "It sends data to a server, or changes data there."}
	sendsFiles    = rule{"network_write", medium, "It copies files to another machine."}
	readsMetadata = rule{"reads_secret", high, "It reads the machine's own credentials from the cloud metadata service."}
)

// addSend adds found, or sendsSecret if an argument names a file that usually holds secrets.
func (a *assessor) addSend(inv *invocation, found rule) {
	for i := range inv.args {
		text := inv.args[i].Text
		if at := strings.IndexByte(text, '@'); at >= 0 && at < 64 {
			text = text[at+1:]
		}
		if _, ok := classifySecretFile(inv.dir, text); ok {
			found = sendsSecret
		}
	}
	a.add(found, inv.span)
}

func (a *assessor) curl(inv *invocation) {
	method := ""
	if w := call.OptionValue(inv.args, "-X", "--request"); w != nil {
		method = w.Text
	}
	for i := range inv.args {
		if m, ok := strings.CutPrefix(inv.args[i].Text, "-X"); ok && m != "" {
			method = m
		}
	}
	data := curlData.matchesAny(inv.name, inv.args) && !alternatives{"-G", "--get"}.matchesAny(inv.name, inv.args)
	get := slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, strings.ToUpper(method))
	local := isOnlyLocal(inv)
	if (method != "" || data) && !get && !local || data && a.sendsSecretFile(inv) {
		a.addSend(inv, sendsData)
	}
}

func (a *assessor) sendsSecretFile(inv *invocation) bool {
	return slices.ContainsFunc(inv.args, func(w call.Word) bool {
		_, file, ok := strings.Cut(w.Text, "@")
		_, secret := classifySecretFile(inv.dir, file)
		return ok && secret
	})
}

// isOnlyLocal reports whether curl has a URL of this machine, so that nothing leaves it, and no other one.
func isOnlyLocal(inv *invocation) (found bool) {
	if inv.hasOption("x", "proxy", "preproxy", "socks4a", "socks5-hostname", "connect-to", "resolve") {
		return false
	}
	for i := range inv.args {
		w := &inv.args[i]
		isValue := i > 0 && len(inv.args[i-1].Text) > 1 && inv.args[i-1].Text[0] == '-' && inv.args[i-1].Text != "--url"
		switch {
		case localURL.MatchString(w.Text):
			found = true
		case otherURL.MatchString(w.Text), !isValue && (w.Dynamic || hostName.MatchString(w.Text)):
			return false
		}
	}
	return found
}

var (
	localURL = regexp.MustCompile(`^(https?://)?(localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(:\d*)?([/?#].*)?$`)
	otherURL = regexp.MustCompile(`^\w+://`)
	// hostName is a name or an address of a host, with or without a path.
	hostName = regexp.MustCompile(`^[\w-]+(\.[\w-]+)+\.?([:/?].*)?$`)
)

func (a *assessor) checkRemoteCopy(inv *invocation) {
	list := inv.operands("-i", "-P", "-p", "-o", "-F", "-e", "--rsh", "--exclude", "--include", "-J")
	if n := len(list); n > 1 && isRemote(list[n-1].Text) {
		a.addSend(inv, sendsFiles)
	}
}

// checkUpload handles copies from this machine to a cloud bucket.
func (a *assessor) checkUpload(inv *invocation) {
	list := inv.operands("--profile", "--region", "--acl", "--exclude", "--include")
	if n := len(list); n > 2 && slices.Contains([]string{"cp", "mv", "sync", "rsync"}, list[n-3].Text) &&
		hasScheme(list[n-1].Text, "s3", "gs") && !hasScheme(list[n-2].Text, "s3", "gs") {
		a.addSend(inv, sendsData)
	}
}

func hasScheme(text string, schemes ...string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && slices.Contains(schemes, scheme)
}
