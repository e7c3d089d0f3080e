package programs

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/hookback/hookback/agentclient/call/paths"
)

// WorkingDir is where a call runs.
type WorkingDir struct {
	Project string // absolute path of the project; empty if unknown
	Dir     string // absolute directory of the call; empty for Project
}

// isOther reports whether the call runs in another directory than that of the project.
func (d WorkingDir) isOther() bool {
	return d.Dir != "" && paths.Join("", d.Dir) != paths.Join("", d.Project)
}

// Contains reports whether p names something inside the project that is not a secret, by its path from
// the root. p may be a pattern; it must then not match a file with a secret's name. Contains reads no
// disk, so it does not know where a symbolic link leads.
func (d WorkingDir) Contains(p string) bool {
	project := paths.Join("", d.Project)
	if paths.HasDrive(project) {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	if p == "" || p[0] == '~' || strings.ContainsAny(p, "\\${}`\x00\n") || strings.Contains(p, "://") || hasOtherName(p, project) {
		return false
	}
	p = paths.Join(cmp.Or(d.Dir, d.Project), p)
	if SecretFileKind(p) != NotSecret || mayMatchSecret(p) || isGitConfig(p) {
		return false
	}
	if !paths.IsAbsolute(p) {
		return !paths.IsAbsolute(project) && p != ".." && !strings.HasPrefix(p, "../")
	}
	return isProject(project) && paths.IsWithin(p, project)
}

// hasOtherName reports whether a system may know a file by another name than the path's: a short one (ENV~1),
// a drive of PowerShell (env:X) or a fork (.env/..namedfork/data).
func hasOtherName(p, project string) bool {
	return strings.Contains(p, "/..") && strings.Contains(strings.ToLower(p), "/..namedfork") ||
		paths.HasDrive(project) && strings.ContainsAny(p[min(2, len(p)):], ":~")
}

// ContainsTree is Contains for a path that a program may read with everything below it.
func (d WorkingDir) ContainsTree(p string) bool {
	return d.Contains(p) && !inSecretFolder(cmp.Or(d.Dir, d.Project)+"/"+p)
}

// isGitConfig reports whether a file has settings of a repository, in which tokens may be.
func isGitConfig(p string) bool {
	before, base := path.Split(strings.ToLower("/" + p))
	return (base == "config" || base == "config.worktree") && strings.Contains(before, "/.git/")
}

// isProject reports whether a clean directory may be a project: it is neither the root nor a home
// directory, nor a directory that holds those.
func isProject(p string) bool {
	if !paths.IsAbsolute(p) || len(p) <= 3 {
		return false
	}
	parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
	if paths.HasDrive(p) {
		parts = parts[1:]
	}
	switch strings.ToLower(parts[0]) {
	case "home", "users":
		return len(parts) > 2
	case "root", "etc", "proc", "sys", "dev", "boot", "usr", "var", "opt", "windows", "lib", "bin", "sbin":
		return len(parts) > 1 && !slices.Contains([]string{"etc", "proc", "sys", "dev", "boot", "windows"}, strings.ToLower(parts[0]))
	default:
		return true
	}
}

// secretFolders hold files that are secret whatever their names.
var secretFolders = []string{
	".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".gem", ".cargo", ".m2", ".git", ".config/gh", ".config/gcloud", ".password-store",
}

// inSecretFolder reports whether a path is one of secretFolders or leads into one.
func inSecretFolder(p string) bool {
	p = "/" + strings.ToLower(paths.Join("", p)) + "/"
	return slices.ContainsFunc(secretFolders, func(folder string) bool { return strings.Contains(p, "/"+folder+"/") })
}

// mayMatchSecret reports whether a pattern may match a file that its name or its folder marks as secret,
// or a hidden directory.
func mayMatchSecret(p string) bool {
	if !strings.ContainsAny(p, "*?[") {
		return false
	}
	for segment := range strings.SplitSeq(p, "/") {
		if strings.HasPrefix(segment, ".") && strings.ContainsAny(segment, "*?[") {
			return true
		}
	}
	return inSecretFolder(p) || matchesAny(p, secretSamples())
}

// matchesAny reports whether the last part of a pattern may match one of the names.
func matchesAny(pattern string, names []string) bool {
	base := strings.ToLower(path.Base(pattern))
	if from, to := strings.IndexByte(base, '['), strings.LastIndexByte(base, ']'); from >= 0 && from < to {
		base = base[:from] + "*" + base[to+1:] // shells and path.Match differ about [!x] and [[:alpha:]]
	}
	return slices.ContainsFunc(names, func(name string) bool {
		ok, err := path.Match(base, name)
		return ok || err != nil
	})
}

// SecretNames returns the names of secrets that a pattern for a file name matches.
func SecretNames(pattern string) (names []string) {
	for _, name := range slices.Concat(settingsFiles, keyFiles, []string{".env", ".env.local"}) {
		if ok, _ := path.Match(pattern, name); ok {
			names = append(names, name)
		}
	}
	return names
}

// SecretKind classifies the secrets that a file has according to its name.
type SecretKind int

const (
	// NotSecret is a file whose name does not suggest a secret.
	NotSecret SecretKind = iota
	// SecretSettings is a settings file that usually contains passwords or tokens, such as .env.
	SecretSettings
	// SecretKey is a file that is a key or a list of passwords.
	SecretKey
)

var (
	settingsFiles = []string{
		".npmrc", ".pypirc", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".htpasswd", ".flaskenv", ".dockercfg", ".s3cfg", ".boto",
		".terraformrc", "terraform.rc", "auth.json", "local.settings.json", ".sentryclirc", ".clasprc.json", ".yarnrc.yml",
		"pgpass.conf", "rclone.conf", "wp-config.php", "secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml", "secrets.env",
		"credentials.tfrc.json",
	}
	keyFiles = []string{
		"id_ecdsa_sk", "id_ed25519_sk", ".vault_pass", ".vault_password", "secring.gpg", "wallet.dat", "client_secret.json",
		"client_secrets.json", "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", "deploy_key", ".git-credentials", ".vault-token",
		"credentials.json", ".credentials.json", "credentials.toml", "oauth_creds.json", "shadow", "gshadow", "master.key",
		"kubeconfig", "kubeconfig.yaml", "kubeconfig.yml",
	}
	// secretLists are no samples: *.txt is common.
	secretLists = []string{
		"secret.txt", "secrets.txt", "password.txt", "passwords.txt", "passwords.csv", "api_key.txt", "apikey.txt", "secret.json",
		".secrets", ".token", "token.txt", "api_key", "apikey", "vault.yml", "vault.yaml", "google-credentials.json",
		"logins.json", "key4.db", "cookies.sqlite", "login data",
	}
	settingsExtensions = []string{".tfvars", ".tfstate", ".env", ".ovpn", ".kubeconfig"}
	examples           = []string{"example", "sample", "template", "dist", "test", "defaults"}
	keyExtensions      = []string{".pem", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".kdbx", ".p8", ".pk8"}
	// secretSamples are names that a pattern must not match.
	secretSamples = sync.OnceValue(func() []string {
		names := slices.Concat(settingsFiles, keyFiles, []string{".env", "server.key", "service-account.json"})
		for _, extension := range slices.Concat(settingsExtensions, keyExtensions) {
			names = append(names, "server"+extension)
		}
		return names
	})
)

// isExample reports whether the name of a settings file marks it as an example.
func isExample(base string) bool {
	return !strings.Contains(base, "local") && slices.ContainsFunc(examples, func(word string) bool { return strings.Contains(base, word) })
}

// isEnvFile reports whether a name is that of a file with environment variables, or of a copy of one.
// The name is in lower case.
func isEnvFile(base string) bool {
	rest, ok := strings.CutPrefix(base, ".env")
	return ok && (rest == "" || rest == "rc" || strings.IndexByte("._-~#*", rest[0]) >= 0)
}

// isKeyName reports whether a name is one that people give to a key of SSH.
func isKeyName(base string) bool {
	return strings.HasSuffix(base, "_rsa") || strings.HasSuffix(base, "_ed25519") || strings.HasSuffix(base, "_ecdsa")
}

// isServiceKey reports whether a name is one that a cloud service gives to a downloaded key. The name
// is in lower case.
func isServiceKey(base string) bool {
	if !strings.HasSuffix(base, ".json") {
		return false
	}
	plain := strings.ReplaceAll(strings.ReplaceAll(base, "-", ""), "_", "")
	return strings.HasPrefix(plain, "serviceaccount") || strings.HasPrefix(plain, "ghacreds") ||
		strings.HasPrefix(plain, "clientsecret") || strings.Contains(plain, "firebaseadminsdk")
}

// SecretFileKind classifies the path of a file by its name. It covers common names only.
func SecretFileKind(p string) SecretKind {
	p = strings.ToLower(paths.ToSlashes(strings.TrimPrefix(p, "file://"))) // disks of Windows and macOS ignore case
	if paths.HasDrive(p) {
		p = p[2:]
	}
	base := strings.TrimRight(path.Base(p), " .") // and Windows these at the end of a name
	ext := path.Ext(base)
	under := func(folder string) bool { return strings.Contains("/"+p, "/"+folder+"/") }
	switch {
	case base == "process.env": // an expression in JavaScript
		return NotSecret
	case isEnvFile(base), strings.HasPrefix(base, ".dev.vars"), slices.Contains(settingsExtensions, ext), strings.HasSuffix(base, ".tfstate.backup"),
		strings.HasSuffix(base, ".tfvars.json"), strings.HasPrefix(base, ".") && strings.HasSuffix(base, "_history"):
		if isExample(base) {
			return NotSecret
		}
		return SecretSettings
	case slices.Contains(settingsFiles, base), under(".m2") && base == "settings.xml", slices.Contains(secretLists, base):
		return SecretSettings
	case ext == ".pub":
		return NotSecret
	case slices.Contains([]string{".bak", ".old", ".orig"}, ext) && len(base) > len(ext):
		return SecretFileKind(strings.TrimSuffix(strings.TrimRight(p, " ."), ext))
	case slices.Contains(keyFiles, base),
		slices.Contains(keyExtensions, ext), isKeyName(base),
		ext == ".key" && len(base) > 4,
		under(".ssh") && !slices.Contains([]string{"config", "known_hosts", "*.pub"}, base),
		base == "credentials" && (under(".aws") || under(".git") || under(".gem") || under(".cargo")), under(".aws") && base == "config",
		under("gh") && base == "hosts.yml", under(".gnupg"), under(".password-store"), under(".kube") && base == "config", under(".docker") && base == "config.json",
		under("gcloud") && (strings.Contains(base, "credential") || strings.HasSuffix(base, ".db")),
		under(".azure") && strings.Contains(base, "token"),
		isServiceKey(base), strings.HasPrefix(p, "/proc/") && base == "environ":
		return SecretKey
	default:
		return NotSecret
	}
}

// IsPlainText reports whether a text is displayed without disguise: it contains no control or
// format characters, no line breaks, and no full-width forms, which Windows maps to ASCII.
func IsPlainText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) ||
			r == utf8.RuneError || r >= 0xFF01 && r <= 0xFF5E
	})
}
