// Package httpapi serves the hub over HTTP: the API, the WebSocket /stream and the
// dashboard's files, all on one port.
//
// A row of routes.All has the path, the access class, the parameters and the types of a route. Its handler is
// an operation on the decoded body, in the table of its callers: agents.go, page_*.go, team_*.go, operations.go.
// routes.go joins the tables, and nothing else refers to it.
// A request passes these stages in order:
//
//	middleware         connections, bodies within a shared byte budget, security headers, the
//	                   guard against other sites (DNS rebinding, CSRF, CORS, media types)
//	access_log.go      panics, metrics, the debug log, and the problem document of a failed handler
//	authenticate.go    authentication: cookie, token or proxy header
//	authorize.go       authorization: the access class of the route
//	admission.go       takes a place for the request
//	middleware         unknown query parameters and their ranges
//	handler.go         the only place where bodies are decoded and results encoded
//
// Package stream serves the hub's log over WebSockets; stream.go upgrades to one. The GET of
// a response with wait is a long poll. agents_held.go holds the responses to POST /ask and to HTTP hooks.
// Package assets serves the dashboard.
package httpapi
