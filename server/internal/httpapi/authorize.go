package httpapi

import (
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

// access is what a route asks of whoever wants it. Whoever shows no credential at all
// is let through on this machine, and it is for the verbs to ask more of them.
type access int

const (
	accessRead   access = iota // people; agents' tokens what is their applications'
	accessIngest               // agents' tokens, and people who may answer
	accessDecide               // people who may answer: an agent's token never does
	accessAny                  // agents' tokens and people alike; the handler tells them apart
	accessPublic               // no credential is looked at: it is how one gets one
)

// routeAccess of the routes that are not what their method says: reads for GET, acts for
// the rest.
var routeAccess = map[string]access{
	"POST " + schema.PathEvents:       accessIngest,
	"POST " + schema.PathBatch:        accessIngest,
	"POST " + schema.PathOTLPLogs:     accessIngest,
	"POST " + schema.PathOTLPMetrics:  accessIngest,
	"POST " + schema.PathClaudeCode:   accessIngest,
	"POST " + schema.PathMCP:          accessAny, // each of its tools says who may use it
	"POST " + schema.PathAgentApprove: accessIngest,
	"POST " + schema.PathCancel:       accessAny, // with its secret it is the agent's own
	"POST " + schema.PathExecution:    accessAny, // with the question's secret, which is checked
	"GET " + schema.PathMe:            accessAny,
	"POST " + schema.PathSignOut:      accessAny,
	"POST " + schema.PathSignIn:       accessPublic,
	"POST " + schema.PathLink:         accessPublic, // the token says who it is
	"POST " + schema.PathLinkVote:     accessPublic,
	"GET " + schema.PathOIDC:          accessPublic,
	"GET " + schema.PathOIDCCallback:  accessPublic,
	"GET " + schema.PathHealth:        accessPublic,
	"GET " + schema.PathReady:         accessPublic,
}

func accessOf(r schema.Route) access {
	if a, ok := routeAccess[r.Method+" "+r.Path]; ok {
		return a
	}
	if r.Method == fiber.MethodGet {
		return accessRead
	}
	return accessDecide
}

// who is where admit leaves it for caller.
const identityLocal = "who"

// requireAccess stands before a route's handler: it finds out who is behind the request, and
// refuses those who may not have this route at all.
func (s *Server) requireAccess(r schema.Route) fiber.Handler {
	required := accessOf(r)
	return func(c *fiber.Ctx) error {
		if required == accessPublic || isPageRequest(c) { // the dashboard has an address like the stream's
			return c.Next()
		}
		identity, err := s.authenticate(c)
		if err != nil {
			return err
		}
		if err := s.authorize(c, r, identity); err != nil {
			return err
		}
		if identity.Known() {
			c.Locals(identityLocal, identity)
		}
		return c.Next()
	}
}

// authenticate says who is behind a request by what it shows.
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
		s.setCookie(c, "", pastExpiry) // the next request comes as nobody
	}
	return identity, err
}

// proxyIdentity is whom a trusted proxy names; from anybody else the header means nothing.
func (s *Server) proxyIdentity(c *fiber.Ctx) string {
	if s.ProxyHeader == "" || !s.isTrustedProxy(peerAddr(c)) {
		return ""
	}
	name, _ := singleHeader(c, s.ProxyHeader) // one that says it twice says nothing
	return name
}

func (s *Server) isTrustedProxy(from netip.Addr) bool {
	for _, network := range s.TrustProxy {
		if network.Contains(from) {
			return true
		}
	}
	return false
}

func peerAddr(c *fiber.Ctx) netip.Addr {
	return addrPortOf(c.Context().RemoteAddr()).Addr().Unmap()
}

// forwardingHeaders are the headers by which a proxy says that it asks for somebody else.
var forwardingHeaders = []string{
	fiber.HeaderXForwardedFor, fiber.HeaderForwarded, "X-Real-Ip", fiber.HeaderXForwardedHost, fiber.HeaderXForwardedProto,
	fiber.HeaderVia, "X-Forwarded-Server", "Cf-Connecting-Ip", "True-Client-Ip", "X-Client-Ip", "X-Envoy-External-Address",
}

// isLocal reports whether the request comes from a program on this machine. What a proxy
// on this machine hands on may come from anywhere.
func (s *Server) isLocal(c *fiber.Ctx) bool {
	from := peerAddr(c)
	if !from.IsLoopback() || s.isTrustedProxy(from) {
		return false
	}
	for _, name := range forwardingHeaders {
		if len(c.Request().Header.Peek(name)) > 0 {
			return false
		}
	}
	return true
}

func (s *Server) authorize(c *fiber.Ctx, r schema.Route, identity auth.Identity) error {
	switch required := accessOf(r); {
	case !identity.Known():
		if s.isLocal(c) || required == accessAny && c.Path() == schema.PathMe { // so that a page can say what to do
			return nil
		}
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "Only programs on the hub's own machine may use it without. Sign in with a link, or send a token: Authorization: Bearer …"}
	case identity.Agent && required == accessDecide:
		return s.Hub.People.RequireOperator(identity)
	case identity.Agent && required == accessRead:
		return s.authorizeRead(c, r, identity)
	case !identity.Agent && required == accessIngest:
		return s.Hub.People.RequireOperator(identity)
	default:
		return nil
	}
}

// appScopedRoutes are the lists that source_app narrows to one application. Every other list
// passes it over, and shows everybody's.
var appScopedRoutes = []string{schema.PathEvents, schema.PathSessions, schema.PathSession, schema.PathExport}

// authorizeRead lets an agent's token see what is its own applications'.
func (s *Server) authorizeRead(c *fiber.Ctx, r schema.Route, identity auth.Identity) error {
	if len(identity.Apps) == 0 {
		return nil
	}
	app := ""
	switch {
	case slices.Contains(appScopedRoutes, r.Path):
		app = c.Query("source_app")
	case strings.Contains(r.Path, ":id"): // an event's: what else has one is only changed, never read
		id, err := eventID(c)
		if err == nil {
			app, err = s.Hub.App(c.UserContext(), id)
		}
		if err != nil {
			return err
		}
	}
	if app != "" && identity.CanPost(app) {
		return nil
	}
	return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "This token is bound to applications: it reads their events by id, or with source_app."}
}

// cookieName is the name of the sign-in's cookie. Cookies don't tell ports apart, so
// it does.
func (s *Server) cookieName(c *fiber.Ctx) string {
	name := "hookback-" + strconv.Itoa(int(addrPortOf(c.Context().LocalAddr()).Port()))
	if s.TLS {
		return "__Host-" + name // browsers take it over TLS only, and from this host only
	}
	return name
}

// pastExpiry makes a browser drop a cookie.
var pastExpiry = time.Unix(1, 0)

func (s *Server) setCookie(c *fiber.Ctx, value string, until time.Time) {
	c.Cookie(&fiber.Cookie{
		Name: s.cookieName(c), Value: value, Path: "/", Expires: until,
		HTTPOnly: true, Secure: s.TLS, SameSite: fiber.CookieSameSiteStrictMode,
	})
}
