// Package httpapi serves the hub over HTTP: the API, the WebSocket /stream and the
// dashboard's files, all on one port.
//
// A handler decodes the request, calls an operation of the hub and encodes the result. A
// request passes these stages in order:
//
//	connection.go       connection tracking: response sent, peer disconnected
//	body_limiter.go     reads the body within a shared byte budget
//	access_log.go       middleware: panics, metrics and the debug log
//	security_headers.go middleware: Content-Security-Policy and the like
//	origin_guard.go     middleware: DNS rebinding, CSRF, CORS and media types
//	authenticate.go     authentication: cookie, token or proxy header
//	authorize.go        authorization: the access table of the routes
//	handlers.go         the handlers
//	problem.go          the only place where an error becomes a response
//
// stream.go serves the hub's log to one client over a WebSocket, with heartbeat and
// disconnection of slow readers; presence.go shares which requests are being viewed. The
// GET of a response with wait is a long poll. claude_code_hook.go holds HTTP hooks open.
// nethttp_adapter.go runs the MCP server behind Fiber. assets.go serves the dashboard.
package httpapi
