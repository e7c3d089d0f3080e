package httpapi

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/schema/routes"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
)

// requireAccess returns the middleware that authenticates the caller of route r and checks
// its class. It stores a known identity under identityLocal. Routes of class public read no
// credentials here, because they are how a caller gets some.
func (s *Server) requireAccess(r *routes.Route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if hasShareSecret(c) && !middleware.IsPageRequest(c) {
			return s.openShare(c, r.Path)
		}
		if r.Access == schema.AccessPublic || middleware.IsPageRequest(c) { // /stream is also a screen of the dashboard
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

// authorize checks the class of route r for its caller.
func (s *Server) authorize(c *fiber.Ctx, r *routes.Route, identity auth.Identity) error {
	if !identity.IsAuthenticated() && s.needsIdentity(c, r) {
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "Only programs of the hub's own account on its machine need no credentials. Sign in with a link, or send the header \"Authorization: Bearer TOKEN\"."}
	}
	access := r.Access
	if hasRequestSecret(c, r) {
		access = schema.AccessAsker
	}
	if err := s.Hub.People.Check(access, identity); err != nil {
		return err
	}
	if access == schema.AccessRead {
		return s.authorizeRead(c, r, identity)
	}
	return nil
}

// needsIdentity reports whether the caller needs credentials for route r, whatever its class
// says about local callers.
func (s *Server) needsIdentity(c *fiber.Ctx, r *routes.Route) bool {
	switch {
	case !s.isLocal(c):
		return true
	case strings.HasPrefix(r.Path, inbox.PathAuthenticated):
		return s.Hub.People.IsLocked()
	default:
		return r.Access == schema.AccessRead && !s.mayReadLocally(c)
	}
}

// hasRequestSecret reports whether the request carries the request secret of its question,
// with which an agent reads the answer or withdraws the question. The hub checks the secret.
func hasRequestSecret(c *fiber.Ctx, r *routes.Route) bool {
	switch r.Path {
	case schema.PathResponse:
		return c.Get(schema.SecretHeader) != ""
	case schema.PathCancel:
		var request schema.Cancel
		return unmarshal(c.Request().Body(), &request) == nil && request.RequestSecret != ""
	default:
		return false
	}
}

// appScopedRoutes are the lists that the source_app parameter restricts to one application.
// All other lists ignore it and contain events of every application.
var appScopedRoutes = []string{
	schema.PathEvents, schema.PathSessions, schema.PathSession, schema.PathExport, history.PathSessionFiles,
	schema.PathRiskyCalls, control.PathMessages,
}

// authorizeRead restricts a token that is bound to applications to their events: single
// events by id, and appScopedRoutes with source_app.
func (s *Server) authorizeRead(c *fiber.Ctx, r *routes.Route, identity auth.Identity) error {
	if len(identity.Apps) == 0 {
		return nil
	}
	app := ""
	switch {
	case slices.Contains(appScopedRoutes, r.Path):
		app = c.Query("source_app")
	case strings.Contains(r.Path, ":id"): // an event id; routes with another kind of id are never AccessRead
		id, err := eventID(c)
		if err == nil {
			app, err = s.Query.EventApp(c.UserContext(), id)
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
