// Package httpapi serves the hub over HTTP: the API, the WebSocket /stream and the
// dashboard's files, all on one port.
//
// A handler decodes the request, calls an operation of the hub and encodes the result. A
// request passes these stages in order:
//
//	middleware         connections, bodies within a shared byte budget, security headers, the
//	                   guard against other sites (DNS rebinding, CSRF, CORS, media types)
//	access_log.go      panics, metrics and the debug log
//	authenticate.go    authentication: cookie, token or proxy header
//	authorize.go       authorization: the access class of the route
//	admission.go       takes a place for the request
//	handlers.go        the handlers
//	problem.go         the only place where an error of a handler becomes a response
//
// Package stream serves the hub's log over WebSockets; stream.go upgrades to one. The GET of
// a response with wait is a long poll. Package held holds the responses to
// POST /ask and to HTTP hooks. mcp.go runs the MCP server. Package assets serves the dashboard.
package httpapi
