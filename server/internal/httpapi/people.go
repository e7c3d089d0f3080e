package httpapi

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/auth"
)

func (s *Server) peopleHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + schema.PathMe:       s.me,
		"POST " + schema.PathSignIn:  s.signIn,
		"POST " + schema.PathSignOut: s.signOut,
		"POST " + schema.PathLock:    s.setLock,

		"GET " + schema.PathPeople:        s.listPeople,
		"POST " + schema.PathPeople:       s.addPerson,
		"POST " + schema.PathPerson:       s.changePerson,
		"POST " + schema.PathPersonLink:   s.linkPerson,
		"POST " + schema.PathPersonReset:  s.resetPerson,
		"DELETE " + schema.PathPerson:     s.removePerson,
		"GET " + schema.PathSignIns:       s.listSignIns,
		"DELETE " + schema.PathSignInByID: s.endSignIn,
		"GET " + schema.PathTokens:        s.listTokens,
		"POST " + schema.PathTokens:       s.createToken,
		"DELETE " + schema.PathToken:      s.revokeToken,
		"GET " + schema.PathOIDC:          s.startOIDC,
		"GET " + schema.PathOIDCCallback:  s.finishOIDC,
	}
}

func (s *Server) listPeople(c *fiber.Ctx) error {
	ctx, identity := c.UserContext(), caller(c).Identity
	return replyJSON(c)(s.Notifier.WithChats(ctx, s.Hub.People.List(ctx, identity), identity.SeesContactsOf))
}

func (s *Server) addPerson(c *fiber.Ctx) error {
	var d schema.PersonDraft
	if err := unmarshal(c.Request().Body(), &d); err != nil {
		return err
	}
	person, code, err := s.Hub.People.AddPerson(c.UserContext(), d, caller(c).Identity)
	if code != "" {
		person.SignInURL = s.signInURL(c, code)
	}
	return replyJSON(c)(person, err)
}

// signInURL returns the sign-in link with that code.
func (s *Server) signInURL(c *fiber.Ctx, code string) string { return s.linkTo(c, "/#sign-in="+code) }

// linkTo returns the URL of a path of the dashboard: at the public address if this hub answers there,
// otherwise at the address that the caller used.
func (s *Server) linkTo(c *fiber.Ctx, path string) string {
	if public := s.Reach.Read(); public.State == control.ReachOK {
		return public.PublicURL + path
	}
	scheme := "http://"
	// Behind a TLS proxy, Origin has the scheme. The origin guard has checked the header.
	if s.TLS || strings.HasPrefix(strings.ToLower(c.Get(fiber.HeaderOrigin)), "https://") {
		scheme = "https://"
	}
	return scheme + c.Get(fiber.HeaderHost) + path
}

// personName returns the decoded name from the path, or "" if its escaping is invalid.
func personName(c *fiber.Ctx) string {
	name, err := url.PathUnescape(c.Params("name"))
	if err != nil {
		return ""
	}
	return name
}

func (s *Server) changePerson(c *fiber.Ctx) error {
	var d schema.PersonDraft
	if err := unmarshal(c.Request().Body(), &d); err != nil {
		return err
	}
	return replyJSON(c)(s.Hub.People.ChangePerson(c.UserContext(), personName(c), d, caller(c).Identity))
}

// confirmation returns the proof in the body of a change of credentials, which may be empty.
func confirmation(c *fiber.Ctx) (proof json.RawMessage, err error) {
	var confirmation schema.Confirmation
	if body := c.Request().Body(); len(body) > 0 {
		err = unmarshal(body, &confirmation)
	}
	return confirmation.Proof, err
}

func (s *Server) resetPerson(c *fiber.Ctx) error {
	proof, err := confirmation(c)
	if err != nil {
		return err
	}
	return replyJSON(c)(s.Hub.People.ResetPerson(c.UserContext(), personName(c), proof, caller(c).Identity))
}

func (s *Server) linkPerson(c *fiber.Ctx) error {
	proof, err := confirmation(c)
	if err != nil {
		return err
	}
	person, code, err := s.Hub.People.CreateSignInLink(c.UserContext(), personName(c), proof, caller(c).Identity)
	person.SignInURL = s.signInURL(c, code)
	return replyJSON(c)(person, err)
}

func (s *Server) removePerson(c *fiber.Ctx) error {
	if err := s.Hub.People.RemovePerson(c.UserContext(), personName(c), caller(c).Identity); err != nil {
		return err
	}
	return s.listPeople(c)
}

func (s *Server) listSignIns(c *fiber.Ctx) error {
	return replyJSON(c)(s.Hub.People.SignIns(caller(c).Identity))
}

func (s *Server) endSignIn(c *fiber.Ctx) error {
	if err := s.Hub.People.EndSignIn(c.UserContext(), c.Params("id"), caller(c).Identity); err != nil {
		return err
	}
	return s.listSignIns(c)
}

func (s *Server) listTokens(c *fiber.Ctx) error {
	return replyJSON(c)(s.Hub.People.Tokens(caller(c).Identity))
}

func (s *Server) createToken(c *fiber.Ctx) error {
	var d schema.TokenDraft
	if err := unmarshal(c.Request().Body(), &d); err != nil {
		return err
	}
	return replyJSON(c)(s.Hub.People.CreateToken(c.UserContext(), d, caller(c).Identity))
}

func (s *Server) revokeToken(c *fiber.Ctx) error {
	if err := s.Hub.People.RevokeToken(c.UserContext(), c.Params("id"), caller(c).Identity); err != nil {
		return err
	}
	return s.listTokens(c)
}

// me accepts every caller, so that the dashboard can show how to sign in. Wrong credentials
// are an error.
func (s *Server) me(c *fiber.Ctx) error {
	identity, err := s.authenticate(c)
	if err != nil {
		return err
	}
	return s.sendMe(c, identity)
}

func (s *Server) sendMe(c *fiber.Ctx, identity auth.Identity) error {
	canAct := identity.Via != "session" || len(c.Request().Header.Peek(schema.KeyHeader)) > 0
	me := s.Hub.People.Me(identity, canAct, s.isLocal(c))
	var err error
	me.NeedsYou, err = s.Query.NeedsYou(c.UserContext(), identity)
	return replyJSON(c)(me, err)
}

func (s *Server) signIn(c *fiber.Ctx) error {
	var request schema.SignInRequest
	if err := unmarshal(c.Request().Body(), &request); err != nil {
		return err
	}
	session, err := s.Hub.People.SignIn(c.UserContext(), auth.SignInAttempt{
		Code: request.Code, Pairs: request.Pair, Name: request.Name, From: peerAddr(c), UserAgent: c.Get(fiber.HeaderUserAgent),
	})
	if err != nil {
		return err
	}
	s.setCookie(c, session.Cookie, session.Until)
	session.Identity.Page = s.pageOf(c)
	return reply(c)(json.Marshal(schema.SignInResult{Key: session.Key, Me: s.Hub.People.Me(session.Identity, true, s.isLocal(c))}))
}

func (s *Server) signOut(c *fiber.Ctx) error {
	if err := s.Hub.People.SignOut(c.UserContext(), caller(c).Identity); err != nil {
		return err
	}
	s.setCookie(c, "", pastExpiry)
	return s.sendMe(c, auth.Identity{})
}

func (s *Server) setLock(c *fiber.Ctx) error {
	var request schema.LockState
	if err := unmarshal(c.Request().Body(), &request); err != nil {
		return err
	}
	identity := caller(c).Identity
	if err := s.Hub.People.Lock(c.UserContext(), request.Locked, identity); err != nil {
		return err
	}
	return s.sendMe(c, identity)
}
