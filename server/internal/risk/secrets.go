package risk

import (
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/paths"
	"github.com/hookback/hookback/agentclient/call/programs"
	"github.com/hookback/hookback/schema"
)

var (
	sendsSecret          = rule{"sends_secret", critical, "It sends a file that usually contains secrets to another machine."}
	readsSecret          = rule{"reads_secret", high, "It reads keys or passwords."}
	readsEnvFile         = rule{"reads_secret", medium, "It reads a file that usually contains passwords or tokens."}
	printsEnvironment    = rule{"prints_environment", medium, "It prints all environment variables, including passwords and tokens."}
	printsSecretVariable = rule{"reads_secret", medium, "It prints a variable that is a secret, judging by its name."}
	sendsEnvironment     = rule{"sends_secret", critical, "It sends this machine's environment variables to another machine."}
	holdsSecret          = rule{"secret_in_command", medium, "The command contains a password or token. The hub has redacted it here."}
)

// classifySecretFile returns the rule for reading a file that its path marks as secret, relative to dir,
// and whether there is one.
func classifySecretFile(dir, p string) (rule, bool) {
	if len(p) > paths.MaxLength {
		return rule{}, false
	}
	if p = strings.TrimPrefix(p, "file://"); p == "" || strings.IndexByte("~-", p[0]) >= 0 || strings.Contains(p, "://") {
		dir = ""
	}
	switch programs.SecretFileKind(paths.Join(dir, p)) {
	case programs.SecretSettings:
		return readsEnvFile, true
	case programs.SecretKey:
		return readsSecret, true
	default:
		return rule{}, false
	}
}

func (a *assessor) checkReads(inv *invocation) {
	pattern := inv.searchPattern()
	for i := range inv.args {
		text := strings.TrimPrefix(inv.args[i].Text, "@")
		if at := strings.LastIndex(text, "=@"); at >= 0 {
			text = text[at+2:]
		}
		found, ok := classifySecretFile(inv.dir, text)
		if !ok || strings.HasPrefix(text, "!") || // a pattern that excludes, as in rg -g
			(inv.name == "cp" || inv.name == "mv" || inv.name == "tee") && i == len(inv.args)-1 {
			continue
		}
		if i == pattern && !strings.Contains(text, "/") {
			continue
		}
		if a.flow[inv.index].isSent {
			found = sendsSecret
		}
		a.add(found, throughIfShort(inv.span, inv.args[i].Span))
	}
	for i := range inv.cmd.Redirects {
		if in := &inv.cmd.Redirects[i]; in.Op == "<" {
			if found, ok := classifySecretFile(inv.dir, in.Target.Text); ok {
				a.add(found, in.Target.Span)
			}
		}
	}
}

func (a *assessor) addEnvironment(inv *invocation) {
	next := a.flow[inv.index]
	search := strings.ToUpper(a.text(wordsSpan(&a.call.Commands[next.reader])))
	switch {
	case next.isSent:
		a.add(sendsEnvironment, inv.span)
	case next.reader == 0 || containsAny(search, secretVariables) || !slices.Contains([]string{"grep", "rg", "wc", "cut", "awk", "sed", "findstr"}, commandName(&a.call.Commands[next.reader])):
		a.add(printsEnvironment, inv.span)
	}
}

// secretVariables are parts of names for which a search in the environment prints secrets.
var secretVariables = strings.Fields("TOKEN SECRET PASSW API_KEY HOOKBACK")

func (a *assessor) printenv(inv *invocation) {
	list := inv.operands()
	if len(list) == 0 {
		a.addEnvironment(inv)
	}
	for i := range list {
		if isSecretName(list[i].Text) {
			a.add(printsSecretVariable, inv.span)
		}
	}
}

func (a *assessor) declare(inv *invocation) {
	for i := range inv.args {
		if inv.name != "set" && isAssignment(&inv.args[i]) {
			a.checkAssignment(&inv.args[i], inv.span, false)
		}
	}
	if len(inv.args) == 0 || len(inv.args) == 1 && inv.args[0].Text == "-p" {
		a.addEnvironment(inv)
	}
}

func (a *assessor) echo(inv *invocation) {
	for i := range inv.args {
		for _, v := range inv.args[i].Vars {
			if isSecretName(v.Name) && !v.IsTested && (a.flow[inv.index].reader == 0 || a.flow[inv.index].isSent) {
				a.add(printsSecretVariable, inv.span)
			}
		}
	}
}

// isSecretName reports whether the name of a variable suggests a secret.
func isSecretName(name string) bool {
	upper := strings.ToUpper(name)
	for _, end := range []string{"PASSWORD", "PASSWD", "SECRET", "TOKEN", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIALS", "SECRET_KEY", "_PAT"} {
		if strings.HasSuffix(upper, end) {
			return true
		}
	}
	return false
}

// checkRedacted adds a finding for each placeholder that redaction left in the command.
func (a *assessor) checkRedacted(src *call.Text) {
	for at := 0; at < len(src.Text); {
		n := strings.Index(src.Text[at:], schema.RedactedPrefix)
		if n < 0 {
			return
		}
		at += n
		end := strings.IndexByte(src.Text[at:min(len(src.Text), at+64)], ']') + 1
		a.add(holdsSecret, span(src, at, at+max(end, len(schema.RedactedPrefix))))
		at += len(schema.RedactedPrefix)
	}
}

func (a *assessor) gitAdd(inv *invocation) {
	name, files := subcommand(inv.args, valueOptions...)
	for i := range files {
		if found, ok := classifySecretFile(inv.dir, files[i].Text); ok && name == "add" {
			found.text = "It adds a file to the project that usually contains secrets."
			a.add(found, throughIfShort(inv.span, files[i].Span))
		}
	}
}
