package routes

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

// Route is one HTTP operation of the hub.
type Route struct {
	Method, Path string        // :id is the id of an event or item, :name the name of a person
	Access       schema.Access // the class of the route: the callers that may use it
	Summary      string        // a few words
	Description  string        // at least one sentence
	Query        []Param
	Ranges       map[string]Range // bounds of integer parameters; default: those of their name
	Headers      []Param          // request headers
	Request      any              // zero value of the body's type; nil if there is no JSON body
	Response     any              // zero value of the type of the 200 body; nil if it is no JSON message
	Returns      string           // what 200 means, or 201
	Created      bool             // the success status is 201
	// Also are the statuses besides 200 that are no Problem, with their meaning.
	Also map[int]string
	// Errors are the protocol errors of this operation, in addition to those of its class, its
	// body and its path (see Problems).
	Errors   []error
	Examples Examples
}

// Param is a query parameter or a request header.
type Param struct{ Name, Description string }

// Range bounds an integer query parameter. Without the parameter, its value is Default.
type Range struct{ Min, Max, Default int64 }

// Unbounded exceeds every id and every Unix time in milliseconds.
const Unbounded = 1 << 53

// ranges are the bounds of the integer parameters of these names.
var ranges = map[string]Range{
	"after": {Max: Unbounded}, "before": {Max: Unbounded}, "from": {Max: Unbounded}, "to": {Max: Unbounded}, "of": {Max: Unbounded},
	"cursor": {Min: 1, Max: Unbounded}, "event": {Min: 1, Max: Unbounded}, "limit": {1, schema.MaxPageLimit, 100},
	"days": {1, history.MaxDays, 14}, "summary": {Max: 1}, "wait": {Max: 60}, "v": {1, 2, 1},
}

// RangeOf returns the bounds of a query parameter of r. ok is false if it is not an integer.
func (r *Route) RangeOf(name string) (bounds Range, ok bool) {
	if bounds, ok = r.Ranges[name]; !ok {
		bounds, ok = ranges[name]
	}
	return bounds, ok
}

// Examples name the messages of schema/testdata that are examples of a route. By default they are
// the first ones of the body's type.
type Examples struct{ Request, Response []string }

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

// Success returns the status of a response without a problem.
func (r *Route) Success() int {
	if r.Created {
		return http.StatusCreated
	}
	return http.StatusOK
}

// Statuses returns the statuses that r can return, except those of Everywhere.
func (r *Route) Statuses() []int {
	var statuses []int
	if r.Returns != "" {
		statuses = append(statuses, r.Success())
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
