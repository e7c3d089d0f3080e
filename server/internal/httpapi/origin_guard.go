package httpapi

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
)

// originGuard decides who may talk to the hub at all. A hub on a developer's machine has
// no password, and every page in the developer's browser can send it requests: what
// keeps them out is that a browser says honestly where a request comes from.
type originGuard struct {
	hosts   map[string]bool // :: host or host:port → configured
	origins map[string]bool // :: scheme://host:port → configured
	tls     bool            // it is https that leads here
}

func newOriginGuard(hosts, origins []string) *originGuard {
	d := &originGuard{hosts: map[string]bool{}, origins: map[string]bool{}}
	for _, h := range hosts {
		d.hosts[strings.ToLower(h)] = true
	}
	for _, o := range origins {
		d.origins[strings.ToLower(strings.TrimSuffix(o, "/"))] = true
	}
	return d
}

// guardOrigin is the first thing every request meets, whatever its path.
func (s *Server) guardOrigin(c *fiber.Ctx) error {
	if err := s.guard.checkHost(c); err != nil {
		return err
	}
	origin, err := s.guard.checkOrigin(c)
	if err != nil {
		return err
	}
	if origin != "" && s.guard.origins[origin] {
		setCORSHeaders(c, origin)
		if c.Method() == fiber.MethodOptions {
			return c.SendStatus(fiber.StatusNoContent)
		}
	}
	if err := checkMediaType(c); err != nil {
		return err
	}
	return c.Next()
}

// singleHeader returns a header's only value; ok is false when there are several.
func singleHeader(c *fiber.Ctx, header string) (value string, ok bool) {
	all := c.Request().Header.PeekAll(header)
	switch len(all) {
	case 0:
		return "", true
	case 1:
		return string(all[0]), true
	default:
		return "", false
	}
}

// checkHost refuses a name that is not the hub's. A page of evil.example whose name
// was rebound to 127.0.0.1 is same-origin in every other respect.
func (d *originGuard) checkHost(c *fiber.Ctx) error {
	host, ok := singleHeader(c, fiber.HeaderHost)
	host = strings.ToLower(host)
	// An absolute request target names the host a second time.
	if ok && d.isOwnHost(host, c.Context().LocalAddr()) && strings.EqualFold(string(c.Request().URI().Host()), host) {
		return nil
	}
	return &schema.HintError{
		Err:  schema.ErrMisdirected,
		Hint: "Use http://127.0.0.1 with the hub's port, or start the hub with -allow-host NAME.",
	}
}

func (d *originGuard) isOwnHost(host string, local net.Addr) bool {
	name, port := splitHost(host)
	addr := addrPortOf(local)
	ourPort := strconv.Itoa(int(addr.Port()))
	if d.hosts[host] || d.hosts[name] && port == ourPort {
		return true
	}
	usual := "80"
	if d.tls {
		usual = "443"
	}
	if port != ourPort && !(port == "" && ourPort == usual) {
		return false
	}
	switch {
	case name == "localhost", strings.HasSuffix(name, ".localhost"), name == "host.docker.internal":
		return true
	default:
		// A literal address can't be rebound; it is ours when it is the one that
		// was dialled.
		ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
		return err == nil && (ip == netip.IPv6Loopback() || ip == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || ip == addr.Addr().Unmap())
	}
}

// splitHost splits a Host header; an IPv6 name keeps its brackets.
func splitHost(host string) (name, port string) {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.HasSuffix(host, "]") {
		return host, ""
	}
	return host[:i], host[i+1:]
}

// checkOrigin refuses requests that a page of another origin makes.
func (d *originGuard) checkOrigin(c *fiber.Ctx) (origin string, err error) {
	origin, ok := singleHeader(c, fiber.HeaderOrigin)
	site, okSite := singleHeader(c, "Sec-Fetch-Site")
	if !ok || !okSite {
		return "", forbiddenOrigin(origin)
	}
	origin = strings.ToLower(origin)
	if origin != "" {
		if d.origins[origin] {
			return origin, nil
		}
		if !d.isSameOrigin(origin, strings.ToLower(c.Get(fiber.HeaderHost))) {
			return "", forbiddenOrigin(origin)
		}
	}
	isRead := c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead
	switch {
	case site == "", site == "same-origin":
	case site == "none" && isRead:
	case isRead && isNavigation(c) && isPageRequest(c):
		// A link to the dashboard in another page or a chat. The page it opens
		// carries no authority and can't be framed.
	default:
		return "", forbiddenOrigin(origin)
	}
	if origin == "" && site != "" && isUpgrade(c) {
		return "", forbiddenOrigin("") // a browser always names the origin of a WebSocket
	}
	return origin, nil
}

func (d *originGuard) isSameOrigin(origin, host string) bool {
	if origin == "http://"+host && !d.tls || origin == "https://"+host && d.tls {
		return true
	}
	name, _ := splitHost(host)
	return origin == "https://"+host && (d.hosts[host] || d.hosts[name]) // behind a proxy of the operator's
}

func isNavigation(c *fiber.Ctx) bool {
	return c.Get("Sec-Fetch-Mode") == "navigate" && c.Get("Sec-Fetch-Dest") == "document"
}

func forbiddenOrigin(origin string) error {
	if origin == "" || origin == "null" || len(origin) > 100 {
		origin = "ORIGIN"
	}
	return &schema.HintError{
		Err:  schema.ErrForbidden,
		Hint: "If this page is yours, start the hub with -allow-origin " + origin + ".",
	}
}

// setCORSHeaders lets a page of a configured origin read the response.
func setCORSHeaders(c *fiber.Ctx, origin string) {
	c.Set(fiber.HeaderAccessControlAllowOrigin, origin)
	c.Set(fiber.HeaderVary, fiber.HeaderOrigin)
	c.Set("Cross-Origin-Resource-Policy", "cross-origin")
	if c.Method() != fiber.MethodOptions {
		return
	}
	c.Set(fiber.HeaderAccessControlAllowMethods, "GET, POST, DELETE")
	c.Set(fiber.HeaderAccessControlAllowHeaders, "Content-Type, "+schema.SecretHeader)
	c.Set(fiber.HeaderAccessControlMaxAge, "600")
	c.Set("Access-Control-Allow-Private-Network", "true")
}

// checkMediaType refuses bodies that are not plain JSON. A page can send form data and
// text/plain anywhere without asking; application/json makes the browser ask first.
func checkMediaType(c *fiber.Ctx) error {
	for _, e := range c.Request().Header.PeekAll(fiber.HeaderContentEncoding) {
		if len(e) > 0 && !strings.EqualFold(string(e), "identity") {
			return unsupportedType(c)
		}
	}
	if c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead || !isFromBrowser(c) {
		return nil
	}
	media, _, _ := strings.Cut(c.Get(fiber.HeaderContentType), ";")
	if !strings.EqualFold(strings.TrimSpace(media), fiber.MIMEApplicationJSON) {
		return unsupportedType(c)
	}
	return nil
}

func isFromBrowser(c *fiber.Ctx) bool {
	return c.Get(fiber.HeaderOrigin) != "" || c.Get("Sec-Fetch-Site") != ""
}

func unsupportedType(c *fiber.Ctx) error {
	if isOTLP(c) {
		return &schema.HintError{Err: schema.ErrUnsupportedType, Hint: otlpHint}
	}
	return &schema.HintError{
		Err:  schema.ErrUnsupportedType,
		Hint: "Send it so: curl -H 'Content-Type: application/json' -d '{…}' http://" + c.Get(fiber.HeaderHost) + schema.PathEvents,
	}
}

// addrPortOf is the zero value for an address that is none of TCP's.
func addrPortOf(a net.Addr) netip.AddrPort {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort()
	}
	return netip.AddrPort{}
}

// dashboardCSP allows the page what it needs and nothing from elsewhere.
var dashboardCSP = strings.Join([]string{
	"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "font-src 'self'",
	"connect-src 'self'", "manifest-src 'self'", "worker-src 'self'", "base-uri 'none'", "form-action 'none'",
	"frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types svelte-trusted-html hookback-worker",
}, "; ")

// securityHeaders stand on every response, as names in canonical form and values.
var securityHeaders = [][2][]byte{
	{[]byte(fiber.HeaderContentSecurityPolicy), []byte(dashboardCSP)},
	{[]byte(fiber.HeaderXContentTypeOptions), []byte("nosniff")},
	{[]byte(fiber.HeaderReferrerPolicy), []byte("no-referrer")},
	{[]byte("Cross-Origin-Opener-Policy"), []byte("same-origin")},
	{[]byte("Cross-Origin-Resource-Policy"), []byte("same-origin")},
	{[]byte(fiber.HeaderCacheControl), []byte("no-store")}, // the dashboard's files say otherwise
}

// apiMethods reports whether path is one of the protocol's, and the methods it knows.
func apiMethods(path string) (methods []string) {
	for _, r := range schema.Routes {
		if !matchesPath(r.Path, path) {
			continue
		}
		methods = append(methods, r.Method)
		if r.Method == fiber.MethodGet {
			methods = append(methods, fiber.MethodHead)
		}
	}
	slices.Sort(methods)
	return slices.Compact(methods)
}

func matchesPath(pattern, path string) bool {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return false
	}
	for i, w := range want {
		if w != have[i] && (!strings.HasPrefix(w, ":") || have[i] == "") {
			return false
		}
	}
	return true
}
