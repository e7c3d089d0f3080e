// Package routes is the table of the hub's HTTP operations. The handlers of package httpapi, the
// OpenAPI document and the access matrix come from it; the TypeScript types come from the
// messages of package schema.
package routes

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
)

// Route is one HTTP operation of the hub.
type Route struct {
	Method, Path string        // :id is the id of an event or item, :name the name of a person
	Access       schema.Access // the class of the route: the callers that may use it
	Summary      string        // a few words
	Description  string        // at least one sentence
	Query        []Param
	Request      any    // zero value of the body's type; nil if there is no JSON body
	Response     any    // zero value of the type of the 200 body; nil if it is no JSON message
	Returns      string // what 200 means
	// Also are the statuses besides 200 that are no Problem, with their meaning.
	Also map[int]string
	// Errors are the protocol errors of this operation, in addition to those of its class, its
	// body and its path (see Problems).
	Errors   []error
	Examples Examples
}

// Param is a query parameter.
type Param struct{ Name, Description string }

// Examples name the messages of schema/testdata that are examples of a route. By default they are
// the first ones of the body's type.
type Examples struct{ Request, Response []string }

// Group is a section of the table.
type Group struct {
	Name, Description string
	Routes            []Route
}

// Groups lists every route of a hub except the dashboard's static files, by section.
var Groups = []Group{
	{"Events", "Events of agents, and their questions", events},
	{"Requests", "The inbox of requests, votes, and approvals in the formats of other systems", slices.Concat(inbox, authenticated(inbox), approvals)},
	{"People", "Accounts, roles, sign-ins, tokens and passkeys", slices.Concat(people, passkeys)},
	{"Rules", "Stored decisions that answer matching requests", rules},
	{"Notifications", "Channels, personal settings and signed links", notifications},
	{"History", "Sessions, overviews and the audit log", past},
	{"Agents", "Hooks and telemetry of coding agents, and the Model Context Protocol", agents},
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

// authenticated returns the same routes below schema.PathAuthenticated.
func authenticated(list []Route) []Route {
	list = slices.Clone(list)
	for i := range list {
		list[i].Path = schema.PathAuthenticated + list[i].Path
		list[i].Summary += " (authenticated)"
		list[i].Description += " Below " + schema.PathAuthenticated + " a locked hub refuses callers without credentials, also on its own machine."
	}
	return list
}

// Problems returns the problems that a handler of r can return, by status.
func (r *Route) Problems() map[int][]schema.Problem {
	errs := append([]error{schema.ErrInvalid}, r.Errors...) // at least an unknown query parameter is invalid
	if r.Access != schema.AccessPublic {
		errs = append(errs, schema.ErrSignIn, schema.ErrNotAllowed)
	}
	if r.Method != http.MethodGet {
		errs = append(errs, schema.ErrTooLarge, schema.ErrUnsupportedType, schema.ErrFull, schema.ErrStorage)
	}
	if strings.Contains(r.Path, ":") {
		errs = append(errs, schema.ErrNotFound)
	}
	byStatus := map[int][]schema.Problem{}
	for _, p := range schema.Problems() {
		if slices.ContainsFunc(errs, func(err error) bool { return schema.ProblemOf(err).Code == p.Code }) {
			byStatus[p.Status] = append(byStatus[p.Status], p)
		}
	}
	return byStatus
}

// Everywhere are the problems that any request can get: from the guard against other sites, while
// the hub is overloaded or stopping, and after an internal fault.
var Everywhere = []error{schema.ErrForbidden, schema.ErrMisdirected, schema.ErrBusy, schema.ErrStopping, schema.ErrInternal}

// Statuses returns the statuses that r can return, except those of Everywhere.
func (r *Route) Statuses() []int {
	var statuses []int
	if r.Returns != "" {
		statuses = append(statuses, http.StatusOK)
	}
	for status := range r.Also {
		statuses = append(statuses, status)
	}
	for status := range r.Problems() {
		statuses = append(statuses, status)
	}
	slices.Sort(statuses)
	return statuses
}
