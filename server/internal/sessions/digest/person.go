package digest

import (
	"slices"

	"github.com/hookback/hookback/schema/history"
)

// personSources lists the sources of a session's person from the weakest to the strongest.
var personSources = []history.PersonSource{"", history.PersonOfSystem, history.PersonOfEmail, history.PersonOfToken}

// updatePerson sets the person that ran the session. A stronger source replaces a weaker one, and the
// first of equal sources stays: a report of an agent never replaces the owner of a token.
func updatePerson(m *history.Session, osUser, email, tokenOwner string) {
	for _, person := range []struct {
		name   string
		source history.PersonSource
	}{{osUser, history.PersonOfSystem}, {email, history.PersonOfEmail}, {tokenOwner, history.PersonOfToken}} {
		if person.name != "" && slices.Index(personSources, person.source) > slices.Index(personSources, m.PersonSource) {
			m.Person, m.PersonSource = person.name, person.source
		}
	}
}
