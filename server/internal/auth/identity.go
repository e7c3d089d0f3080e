// Package auth does authentication and authorization: it holds the accounts of a hub,
// their sessions, tokens and passkeys, and the tokens of agents. It derives the Identity
// of a request from its credentials. The operations of package hub check with it whether a
// caller may do them.
package auth

import (
	"path"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// Identity is the authenticated caller of a request. The zero value is an unauthenticated
// caller.
type Identity struct {
	Name   string      // of the person, or of the agent's token
	Role   schema.Role // of a person; empty for agents
	Owner  bool        // the person owns the hub
	Agent  bool        // authenticated by an agent's token, which can ask and never answer
	Apps   []string    // source_app patterns that an agent's token may use; empty: all
	Via    string      // the authentication method, as in schema.Responder; empty: none
	ID     string      // of the session or token, for revocation
	Paired bool        // a paired device, which has at most the role operator
	Page   string      // origin or host of the page that sent the request; empty: unknown
}

// IsAuthenticated reports whether the caller is authenticated.
func (id Identity) IsAuthenticated() bool { return id.Via != "" }

// Requester returns the name stored with a question to detect that someone answers their
// own question. It is empty for a signed-in browser, because a person typed that question
// there. Names of agents have a prefix, so that they equal no person's name.
func (id Identity) Requester() string {
	switch {
	case !id.IsAuthenticated(), id.Via == "session":
		return ""
	case id.Agent:
		return "agent:" + id.Name
	default:
		return id.Name
	}
}

// TokenOwner returns the person whose own token authenticated the caller, or "".
func (id Identity) TokenOwner() string {
	if id.Agent || id.Via != "token" {
		return ""
	}
	return id.Name
}

// roleOrder lists the roles from the lowest to the highest. An unknown role grants
// nothing.
var roleOrder = []schema.Role{schema.Viewer, schema.Operator, schema.Admin}

// HasRole reports whether the caller is a person with that role or a higher one.
func (id Identity) HasRole(role schema.Role) bool {
	return !id.Agent && slices.Index(roleOrder, id.Role) >= slices.Index(roleOrder, role)
}

// CanPost reports whether the caller may post events of app.
func (id Identity) CanPost(app string) bool {
	if !id.Agent || len(id.Apps) == 0 {
		return true
	}
	return slices.ContainsFunc(id.Apps, func(pattern string) bool {
		fits, err := path.Match(pattern, app)
		return err == nil && fits
	})
}

// LocalName is the name of unauthenticated callers on this machine.
const LocalName = store.LocalName
