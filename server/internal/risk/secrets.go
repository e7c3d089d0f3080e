package risk

import (
	"path"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
)

var (
	readsSecret  = rule{"reads_secret", high, "It reads keys or passwords."}
	readsEnvFile = rule{"reads_secret", medium, "It reads a file that usually holds passwords or tokens."}
	printsVars   = rule{"prints_environment", medium, "It prints every environment variable, passwords and tokens among them."}
	printsVar    = rule{"reads_secret", medium, "It prints a variable whose name says that it is a secret."}
	sendsVars    = rule{"sends_secret", critical, "It sends this machine's environment variables to another machine."}
	holdsSecret  = rule{"secret_in_command", medium, "A password or token stands in the command itself; the hub has hidden it here."}
)

// secretFile says how bad it is to read a file, by its name.
func secretFile(p string) (rule, bool) {
	p = slashes(strings.TrimPrefix(p, "file://"))
	base := strings.ToLower(path.Base(p))
	under := func(folder string) bool { return strings.Contains("/"+p, "/"+folder+"/") }
	switch {
	case base == ".env" || strings.HasPrefix(base, ".env.") || base == ".envrc":
		for _, harmless := range []string{"example", "sample", "template", "dist", "test", "defaults"} {
			if strings.Contains(base, harmless) {
				return rule{}, false
			}
		}
		return readsEnvFile, true
	case slices.Contains([]string{".npmrc", ".pypirc", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".htpasswd", "secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml", "secrets.env"}, base):
		return readsEnvFile, true
	case strings.HasSuffix(base, ".pub"):
		return rule{}, false
	case slices.Contains([]string{"id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", ".git-credentials", ".vault-token", "credentials.json", "shadow", "gshadow", "master.key"}, base),
		slices.Contains([]string{".pem", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".kdbx"}, path.Ext(base)),
		path.Ext(base) == ".key" && len(base) > 4,
		under(".ssh") && !slices.Contains([]string{"config", "known_hosts", "*.pub"}, base),
		under(".aws") && (base == "credentials" || base == "config"), under(".gnupg"), under(".kube") && base == "config", under(".docker") && base == "config.json",
		under("gcloud") && (strings.Contains(base, "credential") || strings.HasSuffix(base, ".db")),
		under(".azure") && strings.Contains(base, "token"),
		strings.HasPrefix(base, "service-account") && path.Ext(base) == ".json", p == "/proc/self/environ":
		return readsSecret, true
	default:
		return rule{}, false
	}
}

func (j *judge) readsFiles(r *run) {
	for i := range r.args {
		text := strings.TrimPrefix(r.args[i].text, "@")
		if at := strings.LastIndex(text, "=@"); at >= 0 {
			text = text[at+2:]
		}
		bad, ok := secretFile(text)
		if !ok || (r.name == "cp" || r.name == "mv" || r.name == "tee") && i == len(r.args)-1 {
			continue
		}
		if (r.name == "grep" || r.name == "rg" || r.name == "sed" || r.name == "awk") && i == 0 && !strings.Contains(text, "/") { // a pattern
			continue
		}
		if r.cmd.sent {
			bad = sendsSecret
		}
		j.add(bad, r.span.upTo(r.args[i].span))
	}
	for i := range r.cmd.redirects {
		if in := &r.cmd.redirects[i]; in.op == "<" {
			if bad, ok := secretFile(in.target.text); ok {
				j.add(bad, in.target.span)
			}
		}
	}
}

func (j *judge) printsEnvironment(r *run) {
	switch next := r.cmd.reader; {
	case r.cmd.sent:
		j.add(sendsVars, r.span)
	case next == nil || !slices.Contains([]string{"grep", "rg", "wc", "cut", "awk", "sed", "findstr"}, commandName(next)):
		j.add(printsVars, r.span)
	}
}

func (j *judge) printenv(r *run) {
	list := r.operands()
	if len(list) == 0 {
		j.printsEnvironment(r)
	}
	for i := range list {
		if secretName(list[i].text) {
			j.add(printsVar, r.span)
		}
	}
}

func (j *judge) setAll(r *run) {
	if len(r.args) == 0 || len(r.args) == 1 && r.args[0].text == "-p" {
		j.printsEnvironment(r)
	}
}

func (j *judge) echo(r *run) {
	for i := range r.args {
		for _, v := range r.args[i].vars {
			if secretName(v.name) && (r.cmd.reader == nil || r.cmd.sent) && !strings.HasPrefix(strings.TrimLeft(r.args[i].text, "$"), "{#") && !guardsOnly(r.args[i].text) {
				j.add(printsVar, r.span)
			}
		}
	}
}

// guardsOnly reports whether ${X:+set} tells no more than that X is set.
func guardsOnly(text string) bool {
	return strings.Contains(text, ":+") || strings.Contains(text, "+set")
}

// secretName reports whether a variable's name says that it is a secret.
func secretName(name string) bool {
	upper := strings.ToUpper(name)
	for _, end := range []string{"PASSWORD", "PASSWD", "SECRET", "TOKEN", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIALS", "SECRET_KEY", "_PAT"} {
		if strings.HasSuffix(upper, end) {
			return true
		}
	}
	return false
}

// redacted looks for what was taken out.
func (j *judge) redacted(src *source) {
	for at := 0; at < len(src.text); {
		n := strings.Index(src.text[at:], schema.RedactedPrefix)
		if n < 0 {
			return
		}
		at += n
		end := strings.IndexByte(src.text[at:min(len(src.text), at+64)], ']') + 1
		j.add(holdsSecret, span{src, at, at + max(end, len(schema.RedactedPrefix))})
		at += len(schema.RedactedPrefix)
	}
}

func (j *judge) gitAdd(r *run) {
	if at := operand(r.args); at >= 0 && r.args[at].text == "add" {
		for i := range r.args[at+1:] {
			if bad, ok := secretFile(r.args[at+1+i].text); ok {
				bad.text = "It adds a file to the project that usually holds secrets."
				j.add(bad, r.span.upTo(r.args[at+1+i].span))
			}
		}
	}
}
