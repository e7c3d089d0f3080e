package httpapi

import (
	"encoding/json"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/people"
)

func (s *Server) peopleHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + schema.PathMe:       s.me,
		"POST " + schema.PathSignIn:  s.signIn,
		"POST " + schema.PathSignOut: s.signOut,
		"POST " + schema.PathLock:    s.lock,
	}
}

func (s *Server) me(c *fiber.Ctx) error { return s.sendMe(c, caller(c).Who) }

func (s *Server) sendMe(c *fiber.Ctx, who people.Who) error {
	acts := who.Via != "session" || len(c.Request().Header.Peek(schema.KeyHeader)) > 0
	return reply(c)(json.Marshal(s.Hub.People.Me(who, acts, s.here(c))))
}

func (s *Server) signIn(c *fiber.Ctx) error {
	var entry schema.Entry
	if err := unmarshal(c.Request().Body(), &entry); err != nil {
		return err
	}
	session, err := s.Hub.People.SignIn(c.UserContext(), people.Attempt{
		Code: entry.Code, Name: entry.Name, From: peerOf(c), UserAgent: c.Get(fiber.HeaderUserAgent),
	})
	if err != nil {
		return err
	}
	s.setCookie(c, session.Cookie, session.Until)
	return reply(c)(json.Marshal(schema.SignedIn{Key: session.Key, Me: s.Hub.People.Me(session.Who, true, s.here(c))}))
}

func (s *Server) signOut(c *fiber.Ctx) error {
	if err := s.Hub.People.SignOut(c.UserContext(), caller(c).Who); err != nil {
		return err
	}
	s.setCookie(c, "", longAgo)
	return s.sendMe(c, people.Who{})
}

func (s *Server) lock(c *fiber.Ctx) error {
	var wanted schema.Lock
	if err := unmarshal(c.Request().Body(), &wanted); err != nil {
		return err
	}
	who := caller(c).Who
	if err := s.Hub.People.Lock(c.UserContext(), wanted.Locked, who); err != nil {
		return err
	}
	return s.sendMe(c, who)
}
