package redact

import (
	"bytes"
	"regexp"
	"sync"
)

// secretOption is a form in which a command or a statement has a secret without a name of its own.
type secretOption struct {
	rule, literal string
	// form matches the text from the literal on; the secret begins where group 1 does.
	form func() *regexp.Regexp
}

// rest may be between a program and an option.
const rest = `[^;|&\n]*?`

// basicAuth is a name and a password.
const basicAuth = `\\?["']?[\w.@%+-]+:([^\s"'/]{4})`

const (
	space         = `(?:\s|\\n)+` // also in JSON
	sensitiveName = `\w*(?:token|passw(?:or)?d|secret|api_?key|access_?key)`
)

var secretOptions = []secretOption{
	newSecretOption("password", "sshpass", `sshpass +-p *(\S)`),
	newSecretOption("password", "mysql", `mysql[a-z]*`+rest+` -p([^\s-])`),
	newSecretOption("password", "mariadb", `mariadb[a-z-]*`+rest+` -p([^\s-])`),
	newSecretOption("password", "mongo", `mongo[a-z]*`+rest+` -p +([^\s-])`),
	newSecretOption("password", "redis-cli", `redis-cli`+rest+` (?:-a|--pass) +(\S)`),
	newSecretOption("password", "curl ", `curl `+rest+`(?:-[A-Za-z]*[uU] *|--(?:proxy-)?user[ =])\\?["']?[^\s:"']*:([^\s"'/])`),
	newSecretOption("cookie", "curl ", `curl (?:`+rest+` )?(?-i:-[A-Za-z]*b) *\\?["']?[^\s=;"'\\]+=([^\s;"'])`),
	newSecretOption("password", "docker login ", `docker login `+rest+`-p +([^\s-])`),
	newSecretOption("password", "podman login ", `podman login `+rest+`-p +([^\s-])`),
	newSecretOption("password", "az login ", `az login `+rest+`-p +([^\s-])`),
	newSecretOption("password", "oc login ", `oc login `+rest+`-p +([^\s-])`),
	newSecretOption("password", "zip -", `zip -`+rest+`P *([^\s-])`),
	newSecretOption("password", "7z ", `7z `+rest+` -p([^\s-])`),
	newSecretOption("password", "7za ", `7za `+rest+` -p([^\s-])`),
	newSecretOption("password", " -a ", ` -a +`+basicAuth), // HTTPie
	newSecretOption("password", "--auth", `--auth[= ]`+basicAuth),
	newSecretOption("password", "htpasswd -", `htpasswd -[A-Za-z]*b[A-Za-z]* +\S+ +\S+ +(\S)`),
	newSecretOption("password", "ldap", `ldap[a-z]+ `+rest+`-w *([^\s-])`),
	newSecretOption("password", "pass", `pass\w*(?:\s|\\n|- )+\\?["']?pass:(\S)`), // of openssl
	newSecretOption("password", "opt pass:", `opt pass:(\S)`),
	newSecretOption("password", "password '", `password '(\S)`),
	newSecretOption("password", "identified ", `identified (?:with \S+ )?(?:by|as) '(\S)`),
	newSecretOption("password", "twine upload ", `twine upload `+rest+`-p +([^\s-])`),
	newSecretOption("password", "poetry publish ", `poetry publish `+rest+`-p +([^\s-])`),
	newSecretOption("password", "sqlcmd ", `sqlcmd `+rest+`(?-i:-P) *([^\s-])`),
	newSecretOption("password", "smbclient ", `smbclient `+rest+`-U *\\?["']?[^\s%"']+%([^\s"'])`),
	newSecretOption("password", "mysqladmin ", `mysqladmin `+rest+` password +(\S)`),
	newSecretOption("password", "ssh-keygen ", `ssh-keygen `+rest+`(?-i:-[NP]) +\\?["']?([^\s"'\\])`),
	newSecretOption("password", "openssl ", `openssl `+rest+` -k +([^\s-])`),
	newSecretOption("password", "security add-", `security add-`+rest+` -w +([^\s-])`),
	newSecretOption("password", "machine ", `machine +\S+?`+space+`login +\S+?`+space+`password +(\S)`),
	newSecretOption("password", "password\" value=", `password" value=("[^"\s])`),
	newSecretOption("password", ";pwd=", `;pwd=([\w!@#%^*+-])[\w!@#%^*+./~-]*(?:[;"'\\\s]|$)`), // of a connection string
	newSecretOption("password", "convertto-securestring", `convertto-securestring +(?:-string +)?\\?["']?([^\s"'$;|&<>(){-])`),
	newSecretOption("password", "echo ", `echo +(?:-\w+ +)?\\?["']?([^\s"'$|\\;&<>]+)\\?["']? *\| *(?:docker login|gh (?:secret set|auth login)) `),
	newSecretOption("password", "auth", `auth=?\( *\\?["'][^"'\n]*["'], *(\\?["'][^"'])`), // of Python
	newSecretOption("token", "sig=", `sig=([\w%+-]{20,}%3d)`),                             // of a SAS
	newSecretOption("token", "amz-signature=", `amz-signature=(\w{20})`),
	newSecretOption("token", "authtoken ", `authtoken +([^\s-])`),
	newSecretOption("token", "cargo login ", `cargo login +([^\s-])`),
	newSecretOption("token", "vault login ", `vault login +([^\s-])`),
	newSecretOption("secret", "setx ", `setx `+sensitiveName+` +([^\s-])`),
	newSecretOption("secret", "setenv ", `setenv `+sensitiveName+` +([^\s-])`),
	newSecretOption("secret", "setenv", `setenv(?:ironmentvariable)?\( *\\?["']`+sensitiveName+`\\?["'], *(\\?["'][^"'])`),
	newSecretOption("secret", "set -", `set -(?:[A-Za-z]*x[A-Za-z]*|-export) `+sensitiveName+` +([^\s-])`),    // fish
	newSecretOption("secret", "auths", `auths\\?" *:[\s\S]*?auth\\?" *: *(\\?"[A-Za-z0-9+/]{12,}={0,2}\\?")`), // of Docker
	newSecretOption("secret", "_auth", `_auth *= *\\?["']?([A-Za-z0-9+/]{8,}=)`),                              // of npm
	newSecretOption("secret", "config", `config(?:ure)? +(?:\S+ +){0,4}?\S*[._:](?:_?auth)?(?:token|password|secret)(?:_access)?(?:_key)? +([^\s-])`),
	newSecretOption("secret", "secret set ", `secret set `+rest+`(?:-b|--body|--value)[ =]+(\S)`),
	newSecretOption("secret", "secrets set ", `secrets set +(?:-[\w-]+(?:[ =][\w./:@-]+)? +)*\\?["']?(?:\w+=|(?-i:[A-Z_][A-Z\d_]*) +)\\?["']?([^\s"'$;|&<>(){-])`),
	newSecretOption("secret", "from-literal", `from-literal[ =]\\?["']?[^\s="']+=(\S)`),
}

func newSecretOption(rule, literal, form string) secretOption {
	return secretOption{rule, literal, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^` + form) })}
}

// maxCommandBytes limits the search for an option.
const maxCommandBytes = 512

// find finds the secret in the command at s.b[at:].
func (o *secretOption) find(s *scan, at int) (match, bool) {
	m := o.form().FindSubmatchIndex(s.b[at:min(len(s.b), at+maxCommandBytes)])
	if m == nil || s.raw {
		return match{}, m != nil
	}
	v := assignedValue{at: at + m[2], name: []byte("secret"), style: flagStyle}
	if isQuote(s.b[v.at]) || s.b[v.at-1] == '\'' {
		v.style = quotedStyle
		if isQuote(s.b[v.at]) {
			v.at++
		}
	}
	found, ok := v.locate(s)
	found.rule = o.rule
	return found, ok && !bytes.HasPrefix(s.b[found.from:], []byte("..."))
}
