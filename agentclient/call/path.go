package call

import (
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/hookback/hookback/agentclient/call/paths"
)

// addPath adds a path of an argument, or the host if the argument has an address instead.
func (c *Call) addPath(text string, op FileOp, at Span) {
	switch scheme := schemeOf(text); {
	case text == "":
	case strings.HasPrefix(scheme, "http") || scheme == "ftp":
		c.addHost(text, "", at)
	case scheme != "" && scheme != "file":
		c.Files = append(c.Files, File{Path: text, Op: op, Span: at, Command: -1}) // a document of an editor
	default:
		c.Files = append(c.Files, File{Path: c.resolve(text), Op: op, Span: at, Command: -1})
	}
}

// addAddress adds the host of an address, or the file of a file: address. The method is empty if it is
// unknown.
func (c *Call) addAddress(text, method string, at Span) {
	if text == "" {
		return
	}
	if isFileURI(text) {
		c.addPath(text, ReadFile, at)
		return
	}
	c.addHost(text, method, at)
}

func (c *Call) addHost(address, method string, at Span) {
	address = placeholder().ReplaceAllString(strings.TrimSpace(address), "x")
	if !strings.Contains(address, "://") {
		address = "//" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		c.addUnread(at, "an address can't be read")
		return
	}
	name := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	c.Hosts = append(c.Hosts, Host{Name: name, Scheme: strings.ToLower(u.Scheme), Method: method, Span: at})
}

var addressPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?i)https?://(?:\\[redacted:[a-z_]+\\]|[^\\s\"'<>()\\[\\]{}`])+")
})

// placeholder replaces a secret at the hub, also in an address.
var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[redacted:[a-z_]+\]`) })

// addAddressesIn adds the hosts of all web addresses in a text.
func (c *Call) addAddressesIn(text string, at Span) {
	for _, found := range addressPattern().FindAllStringIndex(text, -1) {
		c.addHost(text[found[0]:found[1]], "GET", Span{at.Pointer, at.From + found[0], at.From + found[1]})
	}
}

func isFileURI(text string) bool { return len(text) >= 5 && strings.EqualFold(text[:5], "file:") }

// schemeOf returns the scheme of an address in lower case, or "" for a path.
func schemeOf(text string) string {
	scheme, _, isAddress := strings.Cut(text, "://")
	switch {
	case isFileURI(text):
		return "file"
	case !isAddress || strings.ContainsAny(scheme, `/\. `) || len(scheme) < 2:
		return ""
	default:
		return strings.ToLower(scheme)
	}
}

// resolve returns a path with slashes, absolute if c.Dir is known, without "." and "..". A path that
// begins with ~ stays relative to the home directory.
func (c *Call) resolve(name string) string {
	if isFileURI(name) {
		name = name[len("file:"):]
		if rest, ok := strings.CutPrefix(strings.Replace(name, "//localhost/", "///", 1), "//"); ok {
			if name = rest; !strings.HasPrefix(rest, "/") { // file://host/share
				name = "//" + rest
			}
		}
		if decoded, err := url.PathUnescape(name); err == nil {
			name = decoded
		}
		if len(name) > 2 && name[0] == '/' && name[2] == ':' { // file:///C:/dir
			name = name[1:]
		}
	}
	name = strings.ReplaceAll(name, `\`, "/")
	if c.Dir != "" && volumeOf(name) == "" {
		name = strings.ReplaceAll(c.Dir, `\`, "/") + "/" + name
	}
	volume := volumeOf(name)
	rest := path.Clean(strings.TrimLeft(name[len(volume):], "/"))
	switch {
	case volume == "":
		return rest
	case strings.HasSuffix(volume, "/"):
		rest = path.Clean("/" + rest)[1:]
		return volume + rest
	case rest == ".":
		return volume
	case volume[0] == '~': // what ~/.. is depends on the home directory
		return volume + "/" + rest
	default: // a drive
		return volume + path.Clean("/"+rest)
	}
}

// volumeOf returns the part before the relative part of an absolute path with slashes: "/", "//" of
// a network path, "C:", "~" or "~user". A relative path has none.
func volumeOf(name string) string {
	switch {
	case strings.HasPrefix(name, "//"):
		return "//"
	case strings.HasPrefix(name, "/"):
		return "/"
	case name == "~":
		return name
	case strings.HasPrefix(name, "~"):
		home, _, ok := strings.Cut(name, "/")
		if ok {
			return home
		}
		return ""
	case paths.HasDrive(name):
		return name[:2]
	default:
		return ""
	}
}
