// Package shareapi is the HTTP interface of share links, and the gate for requests that have the secret of one.
package shareapi

import (
	"encoding/json"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/shares"
	"github.com/hookback/hookback/server/internal/store"
)

// Handlers returns the handlers of the routes of share links, by "METHOD path". identityOf returns the caller
// of a request, and linkTo the URL of a path of the dashboard.
func Handlers(
	s *shares.Service, identityOf func(*fiber.Ctx) auth.Identity, linkTo func(*fiber.Ctx, string) string,
) map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + control.PathShares: func(c *fiber.Ctx) error {
			return list(c, s, identityOf, store.SessionKey{App: c.Query("source_app"), Session: c.Query("session_id")})
		},
		"POST " + control.PathShares: func(c *fiber.Ctx) error {
			var d control.ShareDraft
			if json.Unmarshal(c.Body(), &d) != nil {
				return &schema.FieldError{Detail: "must be a JSON object: the draft of a share link"}
			}
			link, secret, err := s.Create(c.UserContext(), d, identityOf(c))
			if err != nil {
				return err
			}
			link.URL = linkTo(c, "/shared#"+secret)
			return c.Status(fiber.StatusCreated).JSON(link)
		},
		"DELETE " + control.PathShare: func(c *fiber.Ctx) error {
			if err := s.Revoke(c.UserContext(), c.Params("id"), identityOf(c)); err != nil {
				return err
			}
			return list(c, s, identityOf, store.SessionKey{})
		},
		"GET " + control.PathShared: func(c *fiber.Ctx) error {
			link, ok := c.Locals(linkLocal).(store.Share)
			if !ok {
				return &schema.HintError{Err: schema.ErrSignIn, Hint: "Open the complete link: its secret follows the #."}
			}
			return c.JSON(control.SharedSession{
				SourceApp: link.Session.App, SessionID: link.Session.Session, Person: link.Person, Transcript: link.Transcript,
				ExpiresAt: schema.Millis(link.ExpiresAt.UnixMilli()),
			})
		},
	}
}

func list(c *fiber.Ctx, s *shares.Service, identityOf func(*fiber.Ctx) auth.Identity, key store.SessionKey) error {
	links, err := s.List(c.UserContext(), key, identityOf(c))
	if err != nil {
		return err
	}
	return c.JSON(links)
}

// linkLocal is the key under which Gate stores the link of a request.
const linkLocal = "share"

// HasSecret reports whether the request has the secret of a share link, valid or not. Only Gate serves it.
func HasSecret(c *fiber.Ctx) bool { return len(c.Request().Header.PeekAll(control.ShareHeader)) > 0 }

// Gate serves a request for the route at path that has the secret of a share link. It ignores all other
// credentials, refuses every other route, and checks and reduces the responses of the handlers.
func Gate(c *fiber.Ctx, s *shares.Service, path string) error {
	reduce := reducers[path]
	if reduce == nil || c.Method() != fiber.MethodGet && c.Method() != fiber.MethodHead {
		return errOtherRoute
	}
	from := middleware.AddrPortOf(c.Context().RemoteAddr()).Addr().Unmap()
	secret, _ := middleware.SingleHeader(c, control.ShareHeader) // a duplicate header yields none
	link, err := s.Open(c.UserContext(), secret, from)
	if err != nil {
		return err
	}
	if path != control.PathShared && path != schema.PathEvent && !namesSession(c, link.Session) {
		return errOtherRoute
	}
	c.Locals(linkLocal, link)
	if err := c.Next(); err != nil {
		if path == schema.PathEvent && schema.ProblemOf(err).Code == schema.ProblemOf(schema.ErrNotFound).Code {
			return errOtherRoute // as for an event of another session
		}
		return err
	}
	body, err := reduce(c.Response().Body(), &link)
	if err != nil {
		c.Response().ResetBody()
		return err
	}
	c.Response().SetBodyRaw(body)
	return nil
}

// namesSession reports whether the query names exactly that session.
func namesSession(c *fiber.Ctx, key store.SessionKey) bool {
	only := func(name, want string) bool {
		values := c.Context().QueryArgs().PeekMulti(name)
		return len(values) == 1 && string(values[0]) == want
	}
	return only("source_app", key.App) && only("session_id", key.Session)
}
