package auth

import (
	"errors"
	"fmt"

	"github.com/hookback/hookback/schema"
)

// Check returns an error unless caller may use a route of class access: schema.ErrSignIn if
// signing in can help, else schema.ErrNotAllowed. The zero Identity is a local caller; package
// httpapi rejects callers from other machines before. locked is the state of the hub.
func Check(access schema.Access, caller Identity, locked bool) error {
	if access == schema.AccessPublic {
		return nil
	}
	switch {
	case !caller.IsAuthenticated():
		return checkLocal(access, locked)
	case caller.Agent:
		return checkAgent(access)
	default:
		return checkPerson(access, caller)
	}
}

// checkLocal is Check for a local caller.
func checkLocal(access schema.Access, locked bool) error {
	switch access {
	case schema.AccessPost, schema.AccessAsker, schema.AccessRead:
		return nil
	case schema.AccessDecide, schema.AccessCancel:
		if !locked {
			return nil
		}
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "This hub is locked: only signed-in people can do this. Open your sign-in link, or send your token."}
	case schema.AccessKeep:
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "This outlives the request, so the hub must know who did it. Sign in first."}
	default:
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "Sign in first."}
	}
}

// checkAgent is Check for an agent's token. Its applications are checked later.
func checkAgent(access schema.Access) error {
	switch access {
	case schema.AccessPost, schema.AccessAsker, schema.AccessRead:
		return nil
	case schema.AccessOwn:
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "Only people can do this; an agent's token cannot."}
	default:
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "An agent's token can ask but never answer."}
	}
}

// checkPerson is Check for a person.
func checkPerson(access schema.Access, caller Identity) error {
	switch access {
	case schema.AccessAsker, schema.AccessRead:
		return nil
	case schema.AccessPost, schema.AccessDecide, schema.AccessCancel, schema.AccessKeep:
		return requireRole(caller, schema.Operator)
	case schema.AccessOwn:
		return requireBrowser(caller)
	case schema.AccessAdmin:
		return requireRole(caller, schema.Admin)
	default:
		return fmt.Errorf("unknown class of route %q", access)
	}
}

func requireRole(caller Identity, role schema.Role) error {
	if caller.HasRole(role) {
		return nil
	}
	return &schema.HintError{Err: schema.ErrNotAllowed, Hint: fmt.Sprintf("%s is %s on this hub; this takes %s. An admin can change the role under Team, People.", caller.Name, roleWithArticle(caller.Role), roleWithArticle(role))}
}

// requireBrowser rejects tokens and signed links: a credential must not create or change
// another one.
func requireBrowser(caller Identity) error {
	if caller.Via == "session" || caller.Via == "proxy" {
		return nil
	}
	return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "Do this in the dashboard while you are signed in there. A token cannot."}
}

// errNoFullSession reports a caller who may not create credentials: a proxy's, or a paired device.
var errNoFullSession = &schema.HintError{Err: schema.ErrNotAllowed, Hint: "Do this in a browser that is signed in with a link or with the OpenID provider. A paired device can't."}

func roleWithArticle(r schema.Role) string {
	if r == schema.Viewer {
		return "a viewer"
	}
	return "an " + string(r)
}

// Check returns an error unless caller may use a route of class access in the current state of
// the hub.
func (s *Service) Check(access schema.Access, caller Identity) error {
	if s != nil && s.isStale.Load() && access != schema.AccessPublic {
		return errStale
	}
	err := Check(access, caller, s.IsLocked())
	if errors.Is(err, schema.ErrSignIn) && !s.HasOwner() {
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "This hub has no owner yet. Open the sign-in link that it printed when it started, and you become its owner."}
	}
	return err
}
