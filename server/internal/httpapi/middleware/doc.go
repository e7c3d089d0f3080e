// Package middleware has the steps that a request passes before the hub's handlers see it: connections and
// their limits, the budget of bodies, the guard against other sites, security headers, places for
// requests in progress, and the adapter for handlers of net/http. It is independent of the hub.
package middleware
