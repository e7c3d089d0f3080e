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
	reads  access = iota // people; agents' tokens what is their applications'
	posts                // agents' tokens, and people who may answer
	acts                 // people who may answer: an agent's token never does
	both                 // agents' tokens and people alike; the handler tells them apart
	anyone               // no credential is looked at: it is how one gets one
)

// accesses of the routes that are not what their method says: reads for GET, acts for
// the rest.
var accesses = map[string]access{
	"POST " + schema.PathEvents:       posts,
	"POST " + schema.PathBatch:        posts,
	"POST " + schema.PathOTLPLogs:     posts,
	"POST " + schema.PathOTLPMetrics:  posts,
	"POST " + schema.PathClaudeCode:   posts,
	"POST " + schema.PathMCP:          both, // each of its tools says who may use it
	"POST " + schema.PathAgentApprove: posts,
	"POST " + schema.PathCancel:       both, // with its secret it is the agent's own
	"POST " + schema.PathExecution:    both, // with the question's secret, which is checked
	"GET " + schema.PathMe:            both,
	"POST " + schema.PathSignOut:      both,
	"POST " + schema.PathSignIn:       anyone,
	"POST " + schema.PathLink:         anyone, // the token says who it is
	"POST " + schema.PathLinkVote:     anyone,
	"GET " + schema.PathOIDC:          anyone,
	"GET " + schema.PathOIDCCallback:  anyone,
	"GET " + schema.PathHealth:        anyone,
	"GET " + schema.PathReady:         anyone,
}

func accessTo(r schema.Route) access {
	if a, ok := accesses[r.Method+" "+r.Path]; ok {
		return a
	}
	if r.Method == fiber.MethodGet {
		return reads
	}
	return acts
}

// who is where admit leaves it for caller.
const whoLocal = "who"

// admit stands before a route's handler: it finds out who is behind the request, and
// refuses those who may not have this route at all.
func (s *Server) admit(r schema.Route) fiber.Handler {
	wants := accessTo(r)
	return func(c *fiber.Ctx) error {
		if wants == anyone || wantsPage(c) { // the dashboard has an address like the stream's
			return c.Next()
		}
		who, err := s.identify(c)
		if err != nil {
			return err
		}
		if err := s.mayHave(c, r, who); err != nil {
			return err
		}
		if who.Known() {
			c.Locals(whoLocal, who)
		}
		return c.Next()
	}
}

// identify says who is behind a request by what it shows.
func (s *Server) identify(c *fiber.Ctx) (auth.Identity, error) {
	h := &c.Request().Header
	var shown auth.Credentials
	shown.Authorization = string(h.Peek(fiber.HeaderAuthorization))
	shown.Key = string(h.Peek(schema.KeyHeader))
	if len(h.Peek(fiber.HeaderCookie)) > 0 {
		shown.Cookie = string(h.Cookie(s.cookieName(c)))
	}
	shown.Proxy = s.proxied(c)
	if shown == (auth.Credentials{}) {
		return auth.Identity{}, nil
	}
	shown.From = peerOf(c)
	shown.ChangesState = c.Method() != fiber.MethodGet && c.Method() != fiber.MethodHead
	who, err := s.Hub.People.Authenticate(shown)
	if errors.Is(err, auth.ErrSessionExpired) {
		s.setCookie(c, "", longAgo) // the next request comes as nobody
	}
	return who, err
}

// proxied is whom a trusted proxy names; from anybody else the header means nothing.
func (s *Server) proxied(c *fiber.Ctx) string {
	if s.ProxyHeader == "" || !s.throughProxy(peerOf(c)) {
		return ""
	}
	name, _ := one(c, s.ProxyHeader) // one that says it twice says nothing
	return name
}

func (s *Server) throughProxy(from netip.Addr) bool {
	for _, network := range s.TrustProxy {
		if network.Contains(from) {
			return true
		}
	}
	return false
}

func peerOf(c *fiber.Ctx) netip.Addr {
	return addrPort(c.Context().RemoteAddr()).Addr().Unmap()
}

// forwarded are the headers by which a proxy says that it asks for somebody else.
var forwarded = []string{
	fiber.HeaderXForwardedFor, fiber.HeaderForwarded, "X-Real-Ip", fiber.HeaderXForwardedHost, fiber.HeaderXForwardedProto,
	fiber.HeaderVia, "X-Forwarded-Server", "Cf-Connecting-Ip", "True-Client-Ip", "X-Client-Ip", "X-Envoy-External-Address",
}

// here reports whether the request comes from a program on this machine. What a proxy
// on this machine hands on may come from anywhere.
func (s *Server) here(c *fiber.Ctx) bool {
	from := peerOf(c)
	if !from.IsLoopback() || s.throughProxy(from) {
		return false
	}
	for _, name := range forwarded {
		if len(c.Request().Header.Peek(name)) > 0 {
			return false
		}
	}
	return true
}

func (s *Server) mayHave(c *fiber.Ctx, r schema.Route, who auth.Identity) error {
	switch wants := accessTo(r); {
	case !who.Known():
		if s.here(c) || wants == both && c.Path() == schema.PathMe { // so that a page can say what to do
			return nil
		}
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "Only programs on the hub's own machine may use it without. Sign in with a link, or send a token: Authorization: Bearer …"}
	case who.Agent && wants == acts:
		return s.Hub.People.RequireOperator(who)
	case who.Agent && wants == reads:
		return s.mayRead(c, r, who)
	case !who.Agent && wants == posts:
		return s.Hub.People.RequireOperator(who)
	default:
		return nil
	}
}

// ofOneApp are the lists that source_app narrows to one application. Every other list
// passes it over, and shows everybody's.
var ofOneApp = []string{schema.PathEvents, schema.PathSessions, schema.PathSession, schema.PathExport}

// mayRead lets an agent's token see what is its own applications'.
func (s *Server) mayRead(c *fiber.Ctx, r schema.Route, who auth.Identity) error {
	if len(who.Apps) == 0 {
		return nil
	}
	app := ""
	switch {
	case slices.Contains(ofOneApp, r.Path):
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
	if app != "" && who.CanPost(app) {
		return nil
	}
	return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "This token is bound to applications: it reads their events by id, or with source_app."}
}

// cookieName is the name of the sign-in's cookie. Cookies don't tell ports apart, so
// it does.
func (s *Server) cookieName(c *fiber.Ctx) string {
	name := "hookback-" + strconv.Itoa(int(addrPort(c.Context().LocalAddr()).Port()))
	if s.TLS {
		return "__Host-" + name // browsers take it over TLS only, and from this host only
	}
	return name
}

// longAgo makes a browser drop a cookie.
var longAgo = time.Unix(1, 0)

func (s *Server) setCookie(c *fiber.Ctx, value string, until time.Time) {
	c.Cookie(&fiber.Cookie{
		Name: s.cookieName(c), Value: value, Path: "/", Expires: until,
		HTTPOnly: true, Secure: s.TLS, SameSite: fiber.CookieSameSiteStrictMode,
	})
}
