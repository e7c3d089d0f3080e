package httpapi

import (
	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/store"
)

// shareHandlers returns the handlers of the routes of share links.
func (s *Server) shareHandlers() map[string]handler {
	return map[string]handler{
		"GET " + control.PathShares: handle(func(r *request, _ none) ([]control.Share, error) {
			return s.Shares.List(r, sessionKey(r), r.by.Identity)
		}),
		"POST " + control.PathShares: handle(func(r *request, d control.ShareDraft) (control.Share, error) {
			link, secret, err := s.Shares.Create(r, d, r.by.Identity)
			link.URL = s.linkTo(r.Ctx, "/shared#"+secret)
			return link, err
		}),
		"DELETE " + control.PathShare: handle(func(r *request, _ none) ([]control.Share, error) {
			if err := s.Shares.Revoke(r, r.Params("id"), r.by.Identity); err != nil {
				return nil, err
			}
			return s.Shares.List(r, store.SessionKey{}, r.by.Identity)
		}),
		"GET " + control.PathShared: handle(s.shared),
	}
}

func (s *Server) shared(r *request, _ none) (control.SharedSession, error) {
	link, ok := r.Locals(linkLocal).(store.Share)
	if !ok {
		return control.SharedSession{}, &schema.HintError{Err: schema.ErrSignIn, Hint: "Open the complete link: its secret follows the #."}
	}
	return control.SharedSession{
		SourceApp: link.Session.App, SessionID: link.Session.Session, Person: link.Person, Transcript: link.Transcript,
		ExpiresAt: schema.Millis(link.ExpiresAt.UnixMilli()),
	}, nil
}

// linkLocal is the key under which openShare stores the link of a request.
const linkLocal = "share"

// hasShareSecret reports whether the request has the secret of a share link, valid or not. Only openShare serves it.
func hasShareSecret(c *fiber.Ctx) bool {
	return len(c.Request().Header.PeekAll(control.ShareHeader)) > 0
}

// openShare serves a request for the route at path that has the secret of a share link. It ignores all other
// credentials, refuses every other route, and checks and reduces the responses of the handlers.
func (s *Server) openShare(c *fiber.Ctx, path string) error {
	reduce := reducers[path]
	if reduce == nil || c.Method() != fiber.MethodGet && c.Method() != fiber.MethodHead {
		return errOtherRoute
	}
	secret, _ := middleware.SingleHeader(c, control.ShareHeader) // a duplicate header yields none
	link, err := s.Shares.Open(c.UserContext(), secret, peerAddr(c))
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
