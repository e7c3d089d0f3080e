package httpapi

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

// access is the permission that a route requires. Local requests without credentials pass
// this check; the hub's operations may require more of them.
type access int

const (
	accessRead   access = iota // people and agent tokens; bound tokens only for their applications
	accessIngest               // agent tokens, and people with the operator role
	accessDecide               // people, whose role the operation checks; never agent tokens
	accessAny                  // any authenticated caller; the handler authorizes further
	accessPublic               // no credentials are read, because the route is how a caller gets some
)

// routeAccess is the access table. It lists the routes that differ from the default, which
// is accessRead for GET and accessDecide for every other method.
var routeAccess = map[string]access{
	"POST " + schema.PathEvents:       accessIngest,
	"POST " + schema.PathBatch:        accessIngest,
	"POST " + schema.PathOTLPLogs:     accessIngest,
	"POST " + schema.PathOTLPMetrics:  accessIngest,
	"POST " + schema.PathClaudeCode:   accessIngest,
	"POST " + schema.PathMCP:          accessAny, // each tool checks its caller
	"POST " + schema.PathAgentApprove: accessIngest,
	"POST " + schema.PathCancel:       accessAny, // an agent may cancel its own question with the secret
	"POST " + schema.PathExecution:    accessAny, // requires the question's secret
	"GET " + schema.PathMe:            accessAny,
	"POST " + schema.PathSignOut:      accessAny,
	"POST " + schema.PathSignIn:       accessPublic,
	"POST " + schema.PathLink:         accessPublic, // the token in the body identifies the person
	"POST " + schema.PathLinkVote:     accessPublic,
	"GET " + schema.PathOIDC:          accessPublic,
	"GET " + schema.PathOIDCCallback:  accessPublic,
	"GET " + schema.PathHub:           accessPublic,
	"GET " + schema.PathHealth:        accessPublic,
	"GET " + schema.PathReady:         accessPublic,
	"GET " + schema.PathLicenses:      accessPublic,
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

// identityLocal is the key under which requireAccess stores the identity for caller.
const identityLocal = "who"

// requireAccess returns the middleware that authenticates the caller of route r and checks
// the access table. It stores a known identity under identityLocal.
func (s *Server) requireAccess(r schema.Route) fiber.Handler {
	required := accessOf(r)
	return func(c *fiber.Ctx) error {
		if required == accessPublic || isPageRequest(c) { // /stream is also a screen of the dashboard
			return c.Next()
		}
		identity, err := s.authenticate(c)
		if err != nil {
			return err
		}
		if err := s.authorize(c, r, identity); err != nil {
			return err
		}
		if identity.IsAuthenticated() {
			c.Locals(identityLocal, identity)
		}
		return c.Next()
	}
}

// authorize checks the access table for the caller of route r. A caller without an identity
// must be local.
func (s *Server) authorize(c *fiber.Ctx, r schema.Route, identity auth.Identity) error {
	switch required := accessOf(r); {
	case !identity.IsAuthenticated():
		if s.isLocal(c) && (required != accessRead || s.mayReadLocally(c)) || required == accessAny && c.Path() == schema.PathMe { // lets the dashboard show how to sign in
			return nil
		}
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "Only programs of the hub's own account on its machine need no credentials. Sign in with a link, or send the header \"Authorization: Bearer TOKEN\"."}
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

// appScopedRoutes are the lists that the source_app parameter restricts to one application.
// All other lists ignore it and contain events of every application.
var appScopedRoutes = []string{schema.PathEvents, schema.PathSessions, schema.PathSession, schema.PathExport}

// authorizeRead restricts a token that is bound to applications to their events: single
// events by id, and appScopedRoutes with source_app.
func (s *Server) authorizeRead(c *fiber.Ctx, r schema.Route, identity auth.Identity) error {
	if len(identity.Apps) == 0 {
		return nil
	}
	app := ""
	switch {
	case slices.Contains(appScopedRoutes, r.Path):
		app = c.Query("source_app")
	case strings.Contains(r.Path, ":id"): // an event id; routes with another kind of id are never accessRead
		id, err := eventID(c)
		if err == nil {
			app, err = s.Hub.EventApp(c.UserContext(), id)
		}
		if err != nil {
			return err
		}
	}
	if app != "" && identity.CanPost(app) {
		return nil
	}
	return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "This token is bound to applications. Read one of their events by its id, or add source_app with one of them."}
}
