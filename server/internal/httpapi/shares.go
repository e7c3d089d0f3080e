package httpapi

import (
	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/store"
)

func (s *Server) shareHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + control.PathShares:   s.listShares,
		"POST " + control.PathShares:  s.createShare,
		"DELETE " + control.PathShare: s.revokeShare,
		"GET " + control.PathShared:   s.shared,
	}
}

func (s *Server) listShares(c *fiber.Ctx) error {
	return replyJSON(c)(s.Shares.List(c.UserContext(), sessionKey(c), identityOf(c)))
}

func (s *Server) createShare(c *fiber.Ctx) error {
	var d control.ShareDraft
	if err := unmarshal(c.Body(), &d); err != nil {
		return err
	}
	link, secret, err := s.Shares.Create(c.UserContext(), d, identityOf(c))
	if err != nil {
		return err
	}
	link.URL = s.linkTo(c, "/shared#"+secret)
	c.Status(fiber.StatusCreated)
	return replyJSON(c)(link, nil)
}

func (s *Server) revokeShare(c *fiber.Ctx) error {
	if err := s.Shares.Revoke(c.UserContext(), c.Params("id"), identityOf(c)); err != nil {
		return err
	}
	return replyJSON(c)(s.Shares.List(c.UserContext(), store.SessionKey{}, identityOf(c)))
}

func (s *Server) shared(c *fiber.Ctx) error {
	link, ok := c.Locals(linkLocal).(store.Share)
	if !ok {
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "Open the complete link: its secret follows the #."}
	}
	return replyJSON(c)(control.SharedSession{
		SourceApp: link.Session.App, SessionID: link.Session.Session, Person: link.Person, Transcript: link.Transcript,
		ExpiresAt: schema.Millis(link.ExpiresAt.UnixMilli()),
	}, nil)
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
