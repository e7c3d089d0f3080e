package policy

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// WorkingDir is where a call runs.
type WorkingDir struct {
	Project string // absolute path of the project; empty if unknown
	Dir     string // absolute directory of the call; empty for Project
}

// Contains reports whether p names something inside the project that is not a secret. p may be a
// pattern; it must then not match a file with a secret's name. Contains reads no disk, so it does not
// know where a symbolic link leads.
func (d WorkingDir) Contains(p string) bool {
	project, dir := slashes(d.Project), slashes(d.Dir)
	if isWindowsPath(project) {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	if p == "" || p[0] == '~' || strings.ContainsAny(p, "\\${}`\x00\n") || strings.Contains(p, "://") {
		return false
	}
	if SecretFileKind(p) != NotSecret || mayMatchSecret(p) || strings.HasSuffix("/"+path.Clean(p), "/.git/config") {
		return false
	}
	if dir == "" {
		dir = project
	}
	switch {
	case isAbsolute(p):
		p = path.Clean(p)
	case dir != "":
		p = path.Join(dir, p)
	default:
		p = path.Clean(p)
		return p != ".." && !strings.HasPrefix(p, "../")
	}
	return isProject(project) && (p == path.Clean(project) || strings.HasPrefix(p, path.Clean(project)+"/"))
}

// isProject reports whether a directory may be a project: it is neither the root nor a home
// directory, nor a directory that holds those.
func isProject(p string) bool {
	if p = path.Clean(p); !isAbsolute(p) || len(p) <= 3 {
		return false
	}
	parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
	if isWindowsPath(p) {
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

func isWindowsPath(p string) bool {
	return len(p) >= 2 && p[1] == ':' && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z') || strings.HasPrefix(p, `\\`)
}

func isAbsolute(p string) bool { return strings.HasPrefix(p, "/") || isWindowsPath(p) }

func slashes(p string) string {
	if isWindowsPath(p) {
		return strings.ReplaceAll(p, `\`, "/")
	}
	return p
}

// mayMatchSecret reports whether a pattern may match a file that its name marks as secret, or a
// hidden directory.
func mayMatchSecret(p string) bool {
	if !strings.ContainsAny(p, "*?[") {
		return false
	}
	for segment := range strings.SplitSeq(p, "/") {
		if strings.HasPrefix(segment, ".") && strings.ContainsAny(segment, "*?[") {
			return true
		}
	}
	base := strings.ToLower(path.Base(p))
	return slices.ContainsFunc(secretSamples(), func(name string) bool {
		ok, err := path.Match(base, name)
		return ok || err != nil
	})
}

// SecretKind classifies a file by what its name says about secrets in it.
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
	settingsFiles = []string{".npmrc", ".pypirc", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".htpasswd", "secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml", "secrets.env"}
	keyFiles      = []string{"id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", ".git-credentials", ".vault-token", "credentials.json", "shadow", "gshadow", "master.key"}
	keyExtensions = []string{".pem", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".kdbx"}
	// secretSamples are names that a pattern must not match.
	secretSamples = sync.OnceValue(func() []string {
		return slices.Concat(settingsFiles, keyFiles, []string{
			".env", "server.pem", "server.p12", "server.pfx", "server.jks", "server.keystore", "server.ppk", "server.kdbx", "server.key", "service-account.json",
		})
	})
)

// SecretFileKind classifies the path of a file by its name. It knows common names only.
func SecretFileKind(p string) SecretKind {
	p = slashes(strings.TrimPrefix(p, "file://"))
	base := strings.ToLower(path.Base(p))
	ext := path.Ext(base)
	under := func(folder string) bool { return strings.Contains("/"+p, "/"+folder+"/") }
	switch {
	case base == ".env" || strings.HasPrefix(base, ".env.") || base == ".envrc":
		for _, harmless := range []string{"example", "sample", "template", "dist", "test", "defaults"} {
			if strings.Contains(base, harmless) {
				return NotSecret
			}
		}
		return SecretSettings
	case slices.Contains(settingsFiles, base):
		return SecretSettings
	case ext == ".pub":
		return NotSecret
	case slices.Contains(keyFiles, base), slices.Contains(keyExtensions, ext),
		ext == ".key" && len(base) > 4,
		under(".ssh") && !slices.Contains([]string{"config", "known_hosts", "*.pub"}, base),
		under(".aws") && (base == "credentials" || base == "config"), under(".gnupg"), under(".kube") && base == "config", under(".docker") && base == "config.json",
		under("gcloud") && (strings.Contains(base, "credential") || strings.HasSuffix(base, ".db")),
		under(".azure") && strings.Contains(base, "token"),
		strings.HasPrefix(base, "service-account") && ext == ".json", p == "/proc/self/environ":
		return SecretKey
	default:
		return NotSecret
	}
}
