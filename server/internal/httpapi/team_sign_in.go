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

// setOIDCCookie binds a provider sign-in to the browser that started it. The provider
// redirects back from another site, so SameSite=Strict would suppress the cookie.
func (s *Server) setOIDCCookie(c *fiber.Ctx, value string, until time.Time) {
	c.Cookie(&fiber.Cookie{
		Name: s.cookieName(c) + "-oidc", Value: value, Path: "/", Expires: until,
		HTTPOnly: true, Secure: s.TLS, SameSite: fiber.CookieSameSiteLaxMode,
	})
}

func (s *Server) startOIDC(r *request) error {
	if !s.Hub.People.HasProvider() {
		return &schema.HintError{Err: schema.ErrNoRoute, Hint: "No OpenID provider is configured. Start the hub with -oidc-issuer."}
	}
	// The cookie is valid for one host name, and the provider redirects only to the
	// callback's.
	if callback, err := url.Parse(s.Hub.People.OIDC.CallbackURL); err == nil && !strings.EqualFold(callback.Host, r.Get(fiber.HeaderHost)) {
		return r.Redirect(callback.Scheme+"://"+callback.Host+schema.PathOIDC, fiber.StatusSeeOther)
	}
	redirect, err := s.Hub.People.StartProviderSignIn(r)
	if err != nil {
		return s.redirectSignInError(r.Ctx, err)
	}
	s.setOIDCCookie(r.Ctx, redirect.Cookie, redirect.Until)
	return r.Redirect(redirect.URL, fiber.StatusSeeOther)
}

func (s *Server) finishOIDC(r *request) error {
	if !s.Hub.People.HasProvider() {
		return schema.ErrNoRoute
	}
	cookie := r.Cookies(s.cookieName(r.Ctx) + "-oidc")
	s.setOIDCCookie(r.Ctx, "", pastExpiry)
	if r.Query("error") != "" {
		return s.redirectSignInError(r.Ctx, auth.ErrRefused)
	}
	code, err := s.Hub.People.FinishProviderSignIn(r, auth.AuthCallback{State: r.Query("state"), Code: r.Query("code"), Cookie: cookie})
	if err != nil {
		return s.redirectSignInError(r.Ctx, err)
	}
	return r.Redirect("/#sign-in="+code, fiber.StatusSeeOther)
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
