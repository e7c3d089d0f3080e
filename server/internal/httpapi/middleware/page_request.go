package middleware

import (
	"path"
	"slices"
	"strings"

	"github.com/gofiber/contrib/websocket"
	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/routes"
)

// IsUpgrade reports whether the request is a WebSocket handshake.
func IsUpgrade(c *fiber.Ctx) bool { return websocket.IsWebSocketUpgrade(c) }

// IsPageRequest reports whether the request is for an HTML page: at a path outside the API,
// at a signed vote link, or at /licenses or /stream, which are screens, too.
func IsPageRequest(c *fiber.Ctx) bool {
	// Names in a session's path may end like a file name.
	hasExtension := path.Ext(c.Path()) != "" && !strings.HasPrefix(c.Path(), "/sessions/")
	if c.Path() != "/" && (hasExtension || !strings.Contains(c.Get(fiber.HeaderAccept), fiber.MIMETextHTML)) {
		return false // checked before the routes are matched: requests of agents end here
	}
	isRead := c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead
	signedLink := isRead && matchesPath(schema.PathLinkVote, c.Path())
	isScreen := c.Path() == schema.PathStream && !IsUpgrade(c) || isRead && c.Path() == schema.PathLicenses
	return APIMethods(c.Path()) == nil || signedLink || isScreen
}

// APIMethods returns the methods that the API supports at path, sorted. It returns nil if
// path is not part of the API.
func APIMethods(path string) (methods []string) {
	for _, r := range routes.All {
		if !matchesPath(r.Path, path) {
			continue
		}
		methods = append(methods, r.Method)
		if r.Method == fiber.MethodGet {
			methods = append(methods, fiber.MethodHead)
		}
	}
	slices.Sort(methods)
	return slices.Compact(methods)
}

func matchesPath(pattern, path string) bool {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return false
	}
	for i, w := range want {
		if w != have[i] && (!strings.HasPrefix(w, ":") || have[i] == "") {
			return false
		}
	}
	return true
}

// otlpHint tells how to configure an exporter for the encodings that the hub reads.
const otlpHint = "Send OTLP over HTTP: OTEL_EXPORTER_OTLP_PROTOCOL=http/json or http/protobuf, uncompressed or with gzip."

// isOTLP reports whether the request is for an OTLP route.
func isOTLP(c *fiber.Ctx) bool { return strings.HasPrefix(c.Path(), "/v1/") }
