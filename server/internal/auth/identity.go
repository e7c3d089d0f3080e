// Package people knows who may do what: the persons of a hub, their sign-ins and
// tokens, and the tokens of agents. It tells from a request's credentials who is
// behind it; what that one may do, the verbs of hub ask of Who.
package auth

import (
	"path"
	"slices"

	"github.com/hookback/hookback/schema"
)

// Identity is behind a request. The zero value has shown nothing: anyone who reaches the
// hub.
type Identity struct {
	Name  string      // of the person, or of the agent's token
	Role  schema.Role // of a person; empty for agents
	Owner bool        // the person whose hub it is
	Agent bool        // an agent's token: it asks, and never answers
	Apps  []string    // of an agent's token: the source_app names it may use; none: all
	Via   string      // how it is known, as in schema.Responder; empty: it is not
	ID    string      // of the sign-in or the token, which can be revoked
}

// Known reports whether the hub has checked who it is.
func (id Identity) Known() bool { return id.Via != "" }

// Requester is what is kept of who asked a question, to tell whether somebody answers
// their own. What a signed-in page posts, a person wrote there and then. An agent has a
// name of its own kind: it is nobody's of people.
func (id Identity) Requester() string {
	switch {
	case !id.Known(), id.Via == "session":
		return ""
	case id.Agent:
		return "agent:" + id.Name
	default:
		return id.Name
	}
}

// roleOrder of the roles; a role that nobody knows may nothing.
var roleOrder = []schema.Role{schema.Viewer, schema.Operator, schema.Admin}

// Is reports whether the person has the role, or one that may more.
func (id Identity) Is(role schema.Role) bool {
	return !id.Agent && slices.Index(roleOrder, id.Role) >= slices.Index(roleOrder, role)
}

// CanPost reports whether events of app may come from here.
func (id Identity) CanPost(app string) bool {
	if !id.Agent || len(id.Apps) == 0 {
		return true
	}
	return slices.ContainsFunc(id.Apps, func(pattern string) bool {
		fits, err := path.Match(pattern, app)
		return err == nil && fits
	})
}
