package httpapi

import (
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/reach"
)

// peopleHandlers returns the handlers of the routes of accounts, sign-ins, tokens and passkeys.
func (s *Server) peopleHandlers() map[string]handler {
	return map[string]handler{
		"GET " + schema.PathMe:           handle(s.me),
		"POST " + schema.PathSignIn:      handle(s.signIn),
		"POST " + schema.PathSignOut:     handle(s.signOut),
		"POST " + schema.PathLock:        handle(s.setLock),
		"GET " + schema.PathOIDC:         raw(s.startOIDC),
		"GET " + schema.PathOIDCCallback: raw(s.finishOIDC),

		"GET " + schema.PathPeople: handle(func(r *request, _ none) ([]schema.Person, error) { return s.people(r, nil) }),
		"POST " + schema.PathPeople: handle(func(r *request, d schema.PersonDraft) (schema.Person, error) {
			return s.withLink(r)(s.Hub.People.AddPerson(r, d, r.by.Identity))
		}),
		"POST " + schema.PathPerson: handle(func(r *request, d schema.PersonDraft) (schema.Person, error) {
			return s.Hub.People.ChangePerson(r, personName(r), d, r.by.Identity)
		}),
		"POST " + schema.PathPersonLink: optional(func(r *request, c schema.Confirmation) (schema.Person, error) {
			return s.withLink(r)(s.Hub.People.CreateSignInLink(r, personName(r), c.Proof, r.by.Identity))
		}),
		"POST " + schema.PathPersonReset: optional(func(r *request, c schema.Confirmation) (schema.Person, error) {
			return s.Hub.People.ResetPerson(r, personName(r), c.Proof, r.by.Identity)
		}),
		"DELETE " + schema.PathPerson: handle(func(r *request, _ none) ([]schema.Person, error) {
			return s.people(r, s.Hub.People.RemovePerson(r, personName(r), r.by.Identity))
		}),
		"POST " + control.PathPairing: optional(s.createPairing),

		"GET " + schema.PathSignIns: handle(func(r *request, _ none) ([]schema.SignIn, error) { return s.Hub.People.SignIns(r.by.Identity) }),
		"DELETE " + schema.PathSignInByID: handle(func(r *request, _ none) ([]schema.SignIn, error) {
			if err := s.Hub.People.EndSignIn(r, r.Params("id"), r.by.Identity); err != nil {
				return nil, err
			}
			return s.Hub.People.SignIns(r.by.Identity)
		}),
		"GET " + schema.PathTokens: handle(func(r *request, _ none) ([]schema.Token, error) { return s.Hub.People.Tokens(r.by.Identity) }),
		"POST " + schema.PathTokens: handle(func(r *request, d schema.TokenDraft) (schema.Token, error) {
			return s.Hub.People.CreateToken(r, d, r.by.Identity)
		}),
		"DELETE " + schema.PathToken: handle(func(r *request, _ none) ([]schema.Token, error) {
			if err := s.Hub.People.RevokeToken(r, r.Params("id"), r.by.Identity); err != nil {
				return nil, err
			}
			return s.Hub.People.Tokens(r.by.Identity)
		}),

		"GET " + schema.PathPasskeys: handle(func(r *request, _ none) ([]schema.Passkey, error) {
			return s.Hub.People.MyPasskeys(r.by.Identity)
		}),
		"POST " + schema.PathNewPasskey: optional(func(r *request, c schema.Confirmation) (schema.PasskeyOptions, error) {
			return s.Hub.People.NewPasskey(r, c.Proof, r.by.Identity)
		}),
		"POST " + schema.PathPasskeys: handle(func(r *request, d schema.PasskeyDraft) (schema.Passkey, error) {
			return s.Hub.People.AddPasskey(r, d, r.by.Identity)
		}),
		"DELETE " + schema.PathPasskey: optional(func(r *request, c schema.Confirmation) ([]schema.Passkey, error) {
			if err := s.Hub.People.RemovePasskey(r, r.Params("id"), c.Proof, r.by.Identity); err != nil {
				return nil, err
			}
			return s.Hub.People.MyPasskeys(r.by.Identity)
		}),
		"POST " + schema.PathPasskeyChallenge: handle(func(r *request, c schema.ChallengeRequest) (schema.PasskeyOptions, error) {
			return s.Hub.Challenge(r, &c, r.by)
		}),
		"POST " + schema.PathPasskeyConfirm: handle(func(r *request, action schema.CredentialAction) (schema.PasskeyOptions, error) {
			return s.Hub.People.ChallengeAction(r, r.by.Identity, action)
		}),
	}
}

// people returns the people after a change, or its error.
func (s *Server) people(r *request, err error) ([]schema.Person, error) {
	if err != nil {
		return nil, err
	}
	return s.Notifier.WithChats(r, s.Hub.People.List(r, r.by.Identity), r.by.Identity.SeesContactsOf)
}

// withLink adds the sign-in link with a code to a person.
func (s *Server) withLink(r *request) func(person schema.Person, code string, err error) (schema.Person, error) {
	return func(person schema.Person, code string, err error) (schema.Person, error) {
		if code != "" {
			person.SignInURL = s.linkTo(r.Ctx, "/#sign-in="+code)
		}
		return person, err
	}
}

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
func personName(r *request) string {
	name, err := url.PathUnescape(r.Params("name"))
	if err != nil {
		return ""
	}
	return name
}

// createPairing creates a code only if another device can open its link.
func (s *Server) createPairing(r *request, c schema.Confirmation) (pairing control.PairingCode, err error) {
	public := s.Reach.Read()
	if public.State != control.ReachOK {
		return pairing, &schema.HintError{Err: &schema.FieldError{Detail: "needs a public address at which this hub answers"}, Hint: "Another device can't open this hub yet. Set its public address under Settings, Hub."}
	}
	code, expiresAt, err := s.Hub.People.CreatePairing(r, c.Proof, r.by.Identity)
	if err != nil {
		return pairing, err
	}
	link := public.PublicURL + "/#pair=" + code
	image, err := reach.QRCode(link)
	return control.PairingCode{URL: link, QR: image, ExpiresAt: schema.Millis(expiresAt.UnixMilli())}, err
}

// me accepts every caller, so that the dashboard can show how to sign in. Wrong credentials
// are an error.
func (s *Server) me(r *request, _ none) (schema.Me, error) {
	identity, err := s.authenticate(r.Ctx)
	if err != nil {
		return schema.Me{}, err
	}
	return s.meOf(r, identity)
}

func (s *Server) meOf(r *request, identity auth.Identity) (me schema.Me, err error) {
	canAct := identity.Via != "session" || len(r.Request().Header.Peek(schema.KeyHeader)) > 0
	me = s.Hub.People.Me(identity, canAct, s.isLocal(r.Ctx))
	me.NeedsYou, err = s.Query.NeedsYou(r, identity)
	return me, err
}

func (s *Server) signIn(r *request, body schema.SignInRequest) (schema.SignInResult, error) {
	session, err := s.Hub.People.SignIn(r, auth.SignInAttempt{
		Code: body.Code, Pairs: body.Pair, Name: body.Name, From: peerAddr(r.Ctx), UserAgent: r.Get(fiber.HeaderUserAgent),
	})
	if err != nil {
		return schema.SignInResult{}, err
	}
	s.setCookie(r.Ctx, session.Cookie, session.Until)
	session.Identity.Page = s.pageOf(r.Ctx)
	return schema.SignInResult{Key: session.Key, Me: s.Hub.People.Me(session.Identity, true, s.isLocal(r.Ctx))}, nil
}

func (s *Server) signOut(r *request, _ none) (schema.Me, error) {
	if err := s.Hub.People.SignOut(r, r.by.Identity); err != nil {
		return schema.Me{}, err
	}
	s.setCookie(r.Ctx, "", pastExpiry)
	return s.meOf(r, auth.Identity{})
}

func (s *Server) setLock(r *request, body schema.LockState) (schema.Me, error) {
	if err := s.Hub.People.Lock(r, body.Locked, r.by.Identity); err != nil {
		return schema.Me{}, err
	}
	return s.meOf(r, r.by.Identity)
}
