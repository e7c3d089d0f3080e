package httpapi

import (
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

func (s *Server) passkeyHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + schema.PathPasskeys:          s.listPasskeys,
		"POST " + schema.PathNewPasskey:       s.newPasskey,
		"POST " + schema.PathPasskeys:         s.addPasskey,
		"DELETE " + schema.PathPasskey:        s.removePasskey,
		"POST " + schema.PathPasskeyChallenge: s.challenge,
		"POST " + schema.PathPasskeyConfirm:   s.challengeAction,
	}
}

func (s *Server) listPasskeys(c *fiber.Ctx) error {
	return replyJSON(c)(s.Hub.People.MyPasskeys(caller(c).Identity))
}

func (s *Server) newPasskey(c *fiber.Ctx) error {
	proof, err := confirmation(c)
	if err != nil {
		return err
	}
	return replyJSON(c)(s.Hub.People.NewPasskey(c.UserContext(), proof, caller(c).Identity))
}

func (s *Server) addPasskey(c *fiber.Ctx) error {
	var draft schema.PasskeyDraft
	if err := unmarshal(c.Request().Body(), &draft); err != nil {
		return err
	}
	return replyJSON(c)(s.Hub.People.AddPasskey(c.UserContext(), draft, caller(c).Identity))
}

func (s *Server) removePasskey(c *fiber.Ctx) error {
	proof, err := confirmation(c)
	if err != nil {
		return err
	}
	if err := s.Hub.People.RemovePasskey(c.UserContext(), c.Params("id"), proof, caller(c).Identity); err != nil {
		return err
	}
	return s.listPasskeys(c)
}

func (s *Server) challengeAction(c *fiber.Ctx) error {
	var action schema.CredentialAction
	if err := unmarshal(c.Request().Body(), &action); err != nil {
		return err
	}
	return replyJSON(c)(s.Hub.People.ChallengeAction(c.UserContext(), caller(c).Identity, action))
}

func (s *Server) challenge(c *fiber.Ctx) error {
	var request schema.ChallengeRequest
	if err := unmarshal(c.Request().Body(), &request); err != nil {
		return err
	}
	return replyJSON(c)(s.Hub.Challenge(c.UserContext(), &request, caller(c)))
}

// setOIDCCookie binds a provider sign-in to the browser that started it. The provider
// redirects back from another site, so SameSite=Strict would suppress the cookie.
func (s *Server) setOIDCCookie(c *fiber.Ctx, value string, until time.Time) {
	c.Cookie(&fiber.Cookie{
		Name: s.cookieName(c) + "-oidc", Value: value, Path: "/", Expires: until,
		HTTPOnly: true, Secure: s.TLS, SameSite: fiber.CookieSameSiteLaxMode,
	})
}

func (s *Server) startOIDC(c *fiber.Ctx) error {
	if !s.Hub.People.HasProvider() {
		return &schema.HintError{Err: schema.ErrNoRoute, Hint: "No OpenID provider is configured. Start the hub with -oidc-issuer."}
	}
	// The cookie is valid for one host name, and the provider redirects only to the
	// callback's.
	if callback, err := url.Parse(s.Hub.People.OIDC.CallbackURL); err == nil && !strings.EqualFold(callback.Host, c.Get(fiber.HeaderHost)) {
		return c.Redirect(callback.Scheme+"://"+callback.Host+schema.PathOIDC, fiber.StatusSeeOther)
	}
	redirect, err := s.Hub.People.StartProviderSignIn(c.UserContext())
	if err != nil {
		return s.redirectSignInError(c, err)
	}
	s.setOIDCCookie(c, redirect.Cookie, redirect.Until)
	return c.Redirect(redirect.URL, fiber.StatusSeeOther)
}

func (s *Server) finishOIDC(c *fiber.Ctx) error {
	if !s.Hub.People.HasProvider() {
		return schema.ErrNoRoute
	}
	cookie := c.Cookies(s.cookieName(c) + "-oidc")
	s.setOIDCCookie(c, "", pastExpiry)
	if c.Query("error") != "" {
		return s.redirectSignInError(c, auth.ErrRefused)
	}
	code, err := s.Hub.People.FinishProviderSignIn(c.UserContext(), auth.AuthCallback{State: c.Query("state"), Code: c.Query("code"), Cookie: cookie})
	if err != nil {
		return s.redirectSignInError(c, err)
	}
	return c.Redirect("/#sign-in="+code, fiber.StatusSeeOther)
}

// redirectSignInError redirects to the dashboard with a code for each reason, and the
// dashboard shows the message.
func (s *Server) redirectSignInError(c *fiber.Ctx, cause error) error {
	for err, name := range map[error]string{
		auth.ErrProviderDown: "provider-down", auth.ErrRefused: "refused", auth.ErrFlowExpired: "lost", auth.ErrNoUsableName: "nameless",
	} {
		if errors.Is(cause, err) {
			return c.Redirect("/#sign-in-failed="+name, fiber.StatusSeeOther)
		}
	}
	return cause
}
