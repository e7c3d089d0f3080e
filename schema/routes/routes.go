// Package routes is the table of the hub's HTTP operations. The handlers of package httpapi, the
// OpenAPI document and the access matrix come from it; the TypeScript types come from the
// messages of package schema.
package routes

import (
	"slices"

	"github.com/hookback/hookback/schema/inbox"
)

// Group is a section of the table.
type Group struct {
	Name, Description string
	Routes            []Route
}

// Groups lists every route of a hub except the dashboard's static files, by section.
var Groups = []Group{
	{"Events", "Events of agents, and their questions", events},
	{"Requests", "The inbox of requests, votes, and approvals in the formats of other systems", slices.Concat(requests, authenticated(requests), approvals)},
	{"People", "Accounts, roles, sign-ins, tokens and passkeys", slices.Concat(people, passkeys)},
	{"Share links", "Links that show one session, read-only", shares},
	{"Alerts", "Stuck agents, repeated failures and spending", alerts},
	{"Coverage", "Which agents run the gate", coverage},
	{"Rules", "Stored decisions that answer matching requests", rules},
	{"Control", "Messages and freezes of people for running agents", freezes},
	{"Notifications", "Channels, personal settings and signed links", notifications},
	{"History", "Sessions, overviews and the audit log", past},
	{"Messages", "Messages of people to running sessions", sessionMessages},
	{"Agents", "Hooks and telemetry of coding agents, and the Model Context Protocol", agents},
	{"Test", "A request of the hub itself", testRequests},
	{"Operation", "Health, metrics and this document", operation},
}

// All lists the routes of all Groups. The order is that of registration: a fixed path comes before
// one with a parameter.
var All = func() (all []Route) {
	for _, g := range Groups {
		all = append(all, g.Routes...)
	}
	return all
}()

// authenticated returns the same routes below inbox.PathAuthenticated.
func authenticated(list []Route) []Route {
	list = slices.Clone(list)
	for i := range list {
		list[i].Path = inbox.PathAuthenticated + list[i].Path
		list[i].Summary += " (authenticated)"
		list[i].Description += " Below " + inbox.PathAuthenticated + " a locked hub refuses callers without credentials, also on its own machine."
	}
	return list
}
