package httpapi

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/peer"
)

// authenticate returns the identity that the request's credentials prove. Without
// credentials it returns the zero Identity and no error.
func (s *Server) authenticate(c *fiber.Ctx) (auth.Identity, error) {
	h := &c.Request().Header
	var credentials auth.Credentials
	credentials.Authorization = string(h.Peek(fiber.HeaderAuthorization))
	credentials.Key = string(h.Peek(schema.KeyHeader))
	if len(h.Peek(fiber.HeaderCookie)) > 0 {
		credentials.Cookie = string(h.Cookie(s.cookieName(c)))
	}
	credentials.Proxy = s.proxyIdentity(c)
	if credentials == (auth.Credentials{}) {
		return auth.Identity{}, nil
	}
	credentials.From = peerAddr(c)
	credentials.ChangesState = c.Method() != fiber.MethodGet && c.Method() != fiber.MethodHead
	identity, err := s.Hub.People.Authenticate(credentials)
	if errors.Is(err, auth.ErrSessionExpired) {
		s.setCookie(c, "", pastExpiry) // later requests come without the expired cookie
	}
	identity.Page = s.pageOf(c)
	return identity, err
}

// pageOf returns the origin of the page that sent the request, or its host if the browser sends no
// origin; the origin guard has checked both. It is empty behind a proxy that replaces the host.
func (s *Server) pageOf(c *fiber.Ctx) string {
	host := strings.ToLower(c.Get(fiber.HeaderHost))
	switch origin := c.Get(fiber.HeaderOrigin); {
	case origin != "":
		return strings.ToLower(origin)
	case isForwarded(c) && !s.Reach.IsPublicHost(host):
		return ""
	default:
		return host
	}
}

// proxyIdentity returns the name that a trusted proxy put in ProxyHeader. It ignores the
// header if the request came from any other address.
func (s *Server) proxyIdentity(c *fiber.Ctx) string {
	if s.ProxyHeader == "" || !s.isTrustedProxy(c) {
		return ""
	}
	name, _ := middleware.SingleHeader(c, s.ProxyHeader) // a duplicate header yields no name
	return name
}

// isTrustedProxy reports whether the connection came over TCP from an address in TrustProxy.
func (s *Server) isTrustedProxy(c *fiber.Ctx) bool {
	from := peerAddr(c)
	if middleware.IsSocket(c) {
		return false
	}
	for _, network := range s.TrustProxy {
		if network.Contains(from) {
			return true
		}
	}
	return false
}

func peerAddr(c *fiber.Ctx) netip.Addr {
	return middleware.AddrPortOf(c.Context().RemoteAddr()).Addr().Unmap()
}

// forwardingHeaders mark a request as forwarded by a proxy for someone else.
var forwardingHeaders = []string{
	fiber.HeaderXForwardedFor, fiber.HeaderForwarded, "X-Real-Ip", fiber.HeaderXForwardedHost, fiber.HeaderXForwardedProto,
	fiber.HeaderVia, "X-Forwarded-Server", "Cf-Connecting-Ip", "True-Client-Ip", "X-Client-Ip", "X-Envoy-External-Address",
}

// isLocal reports whether the request comes from a program on this machine whose account
// needs no credentials. A request forwarded by a proxy on this machine is not local, because
// it may originate anywhere.
func (s *Server) isLocal(c *fiber.Ctx) bool {
	if !peerAddr(c).IsLoopback() || s.isTrustedProxy(c) || s.Reach.IsForwardedHost(strings.ToLower(c.Get(fiber.HeaderHost))) {
		return false
	}
	return !isForwarded(c) && (s.LocalAccounts.All || s.isConfirmed(c) || !peer.KnowsOwners)
}

func isForwarded(c *fiber.Ctx) bool {
	for _, name := range forwardingHeaders {
		if len(c.Request().Header.PeekAll(name)) > 0 { // also an empty one: proxies append to the header
			return true
		}
	}
	return false
}

// mayReadLocally reports whether a local caller may read. On a locked hub that takes an
// account that the kernel confirms: its programs could read the database instead.
func (s *Server) mayReadLocally(c *fiber.Ctx) bool {
	return s.LocalAccounts.All || s.isConfirmed(c) || !s.Hub.People.IsLocked()
}

// isConfirmed reports whether the kernel confirms that the caller's account needs no
// credentials.
func (s *Server) isConfirmed(c *fiber.Ctx) bool {
	cn, ok := c.Context().Conn().(*middleware.Conn)
	if !ok {
		return false
	}
	uid, ok := cn.Owner()
	return ok && s.LocalAccounts.Contains(uid)
}

// cookieName returns the name of the session cookie. It contains the port, because browsers
// send cookies to every port of a host.
func (s *Server) cookieName(c *fiber.Ctx) string {
	name := "hookback-" + strconv.Itoa(int(middleware.AddrPortOf(c.Context().LocalAddr()).Port()))
	if s.TLS {
		return "__Host-" + name // browsers accept this prefix only over TLS and from this host
	}
	return name
}

// pastExpiry makes a browser delete a cookie.
var pastExpiry = time.Unix(1, 0)

func (s *Server) setCookie(c *fiber.Ctx, value string, until time.Time) {
	c.Cookie(&fiber.Cookie{
		Name: s.cookieName(c), Value: value, Path: "/", Expires: until,
		HTTPOnly: true, Secure: s.TLS, SameSite: fiber.CookieSameSiteStrictMode,
	})
}
