// Package middleware is what a request passes before the hub's handlers see it: connections and
// their limits, the budget of bodies, the guard against other sites, security headers, places for
// requests in progress, and the adapter for handlers of net/http. It knows nothing of the hub.
package middleware
