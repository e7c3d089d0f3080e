// Package httpapi is the hub's door to the network: HTTP, the WebSocket /stream
// and the dashboard's files, all on one port.
//
// Handlers are three lines: decode, call the hub's verb, encode. What is in the
// way of a request, in this order:
//
//	listener.go   the connection, which knows when a response has really left
//	observe.go    panics, metrics and the debug log
//	door.go       who may talk to the hub at all: Host, Origin, media type
//	handlers.go   the verbs
//	problem.go    the one place where an error becomes a response
//
// stream.go follows the hub's log for one page; assets.go serves the dashboard.
package httpapi
