package middleware

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
)

// OriginGuard protects the hub from web pages in the user's browser: from DNS rebinding by
// the Host header and from CSRF by Origin and Sec-Fetch-Site. A local hub has no password
// and any page can send it requests, but a browser truthfully reports where a request comes
// from.
type OriginGuard struct {
	hosts   map[string]bool // allowed host or host:port
	origins map[string]bool // allowed scheme://host:port
	tls     bool            // the hub is reached over https
	public  PublicHosts
}

// PublicHosts knows the host of the hub's public address, which can change.
type PublicHosts interface {
	// IsPublicHost reports whether a Host header, in lower case, names the public address.
	IsPublicHost(host string) bool
}

// NewOriginGuard returns a guard that allows the hub's own names, the further hosts (host or
// host:port) and the origins (scheme://host:port). tls: the hub is reached over https.
func NewOriginGuard(hosts, origins []string, tls bool, public PublicHosts) *OriginGuard {
	d := &OriginGuard{hosts: map[string]bool{}, origins: map[string]bool{}, tls: tls, public: public}
	for _, h := range hosts {
		d.hosts[strings.ToLower(h)] = true
	}
	for _, o := range origins {
		d.origins[strings.ToLower(strings.TrimSuffix(o, "/"))] = true
	}
	return d
}

// Check is the middleware that every request passes before routing. It checks the
// host, the origin and the body's media type, and answers CORS preflights of allowed
// origins.
func (d *OriginGuard) Check(c *fiber.Ctx) error {
	if err := d.checkHost(c); err != nil {
		if !isProbe(c) {
			return err
		}
		c.Locals(foreignHost{}, true)
	}
	origin, err := d.checkOrigin(c)
	if err != nil {
		return err
	}
	if origin != "" && d.origins[origin] {
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

// foreignHost is the key of a local that marks a request under a name that is not the hub's.
type foreignHost struct{}

// HasForeignHost reports whether a probe uses a name that is not the hub's. Its response must
// contain no more than its status, because a page whose name was rebound can read it.
func HasForeignHost(c *fiber.Ctx) bool { return c.Locals(foreignHost{}) != nil }

// isProbe reports whether the request is a health check. Load balancers and monitors send any
// name as the host, or none (HTTP/1.0).
func isProbe(c *fiber.Ctx) bool {
	isRead := c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead
	return isRead && (c.Path() == schema.PathHealth || c.Path() == schema.PathReady)
}

// SingleHeader returns a header's only value, or "" if it is absent. ok is false if the
// header is repeated.
func SingleHeader(c *fiber.Ctx, header string) (value string, ok bool) {
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

// checkHost rejects host names that are not the hub's (DNS rebinding). A page of
// evil.example whose name was rebound to 127.0.0.1 is same-origin in every other respect.
func (d *OriginGuard) checkHost(c *fiber.Ctx) error {
	host, ok := SingleHeader(c, fiber.HeaderHost)
	host = strings.ToLower(host)
	if IsSocket(c) && host == "localhost" {
		return nil // clients of the Unix socket may not know the hub's port
	}
	// An absolute request target contains the host a second time.
	if ok && d.isOwnHost(host, c.Context().LocalAddr()) && strings.EqualFold(string(c.Request().URI().Host()), host) {
		return nil
	}
	return &schema.HintError{
		Err:  schema.ErrMisdirected,
		Hint: "Use http://127.0.0.1 with the hub's port, or start the hub with -allow-host NAME.",
	}
}

func (d *OriginGuard) isOwnHost(host string, local net.Addr) bool {
	name, port := splitHost(host)
	addr := AddrPortOf(local)
	ownPort := strconv.Itoa(int(addr.Port()))
	if d.hosts[host] || d.hosts[name] && port == ownPort || d.public.IsPublicHost(host) {
		return true
	}
	defaultPort := "80"
	if d.tls {
		defaultPort = "443"
	}
	if port != ownPort && !(port == "" && ownPort == defaultPort) {
		return false
	}
	if name == "localhost" {
		return true
	}
	// A literal address cannot be rebound. It is valid if it is the address that the
	// connection was made to.
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil && (ip == netip.IPv6Loopback() || ip == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || ip == addr.Addr().Unmap())
}

// splitHost splits a Host header. An IPv6 address keeps its brackets.
func splitHost(host string) (name, port string) {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.HasSuffix(host, "]") {
		return host, ""
	}
	return host[:i], host[i+1:]
}

// checkOrigin rejects requests made by pages of other origins (CSRF). It returns the
// request's origin in lower case, or "" if there is none.
func (d *OriginGuard) checkOrigin(c *fiber.Ctx) (origin string, err error) {
	origin, ok := SingleHeader(c, fiber.HeaderOrigin)
	site, okSite := SingleHeader(c, "Sec-Fetch-Site")
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
	case isRead && isNavigation(c) && IsPageRequest(c):
		// A link to the dashboard from another page or a chat. The page it opens is not
		// authorized to do anything and cannot be framed.
	default:
		return "", forbiddenOrigin(origin)
	}
	if origin == "" && site != "" && IsUpgrade(c) {
		return "", forbiddenOrigin("") // browsers always send the origin of a WebSocket
	}
	return origin, nil
}

func (d *OriginGuard) isSameOrigin(origin, host string) bool {
	if origin == "http://"+host && !d.tls || origin == "https://"+host && d.tls {
		return true
	}
	name, _ := splitHost(host)
	// A reverse proxy of the operator terminates TLS.
	return origin == "https://"+host && (d.hosts[host] || d.hosts[name] || d.public.IsPublicHost(host))
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
		Hint: "If you trust this page, start the hub with -allow-origin " + origin + ".",
	}
}

// setCORSHeaders lets a page of an allowed origin read the response.
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

// checkMediaType rejects compressed bodies, except for OTLP with gzip, and bodies from browsers that are not JSON. A
// page can send forms and text/plain to any origin, but application/json requires a CORS
// preflight.
func checkMediaType(c *fiber.Ctx) error {
	for _, e := range c.Request().Header.PeekAll(fiber.HeaderContentEncoding) {
		if len(e) > 0 && !strings.EqualFold(string(e), "identity") && !(isOTLP(c) && IsCompressed(c)) {
			return UnsupportedType(c)
		}
	}
	if c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead || !isFromBrowser(c) {
		return nil
	}
	media, _, _ := strings.Cut(c.Get(fiber.HeaderContentType), ";")
	if !strings.EqualFold(strings.TrimSpace(media), fiber.MIMEApplicationJSON) {
		return UnsupportedType(c)
	}
	return nil
}

// IsCompressed reports whether the body is compressed with gzip and nothing else.
func IsCompressed(c *fiber.Ctx) bool {
	encodings := c.Request().Header.PeekAll(fiber.HeaderContentEncoding)
	return len(encodings) == 1 && strings.EqualFold(string(encodings[0]), "gzip")
}

func isFromBrowser(c *fiber.Ctx) bool {
	return c.Get(fiber.HeaderOrigin) != "" || c.Get("Sec-Fetch-Site") != ""
}

// UnsupportedType returns the error for a body that is not plain JSON, with what to send instead.
func UnsupportedType(c *fiber.Ctx) error {
	if isOTLP(c) {
		return &schema.HintError{Err: schema.ErrUnsupportedType, Hint: otlpHint}
	}
	return &schema.HintError{
		Err:  schema.ErrUnsupportedType,
		Hint: "Send plain JSON: curl -H 'Content-Type: application/json' -d '{…}' http://" + c.Get(fiber.HeaderHost) + schema.PathEvents,
	}
}

// AddrPortOf returns the zero AddrPort for an address that is not TCP.
func AddrPortOf(a net.Addr) netip.AddrPort {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort()
	}
	return netip.AddrPort{}
}
