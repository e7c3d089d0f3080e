package httpapi

import (
	"context"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/server/internal/alerts"
	"github.com/hookback/hookback/server/internal/coverage"
	"github.com/hookback/hookback/server/internal/httpapi/assets"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/httpapi/stream"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/notify"
	"github.com/hookback/hookback/server/internal/now"
	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/ratings"
	"github.com/hookback/hookback/server/internal/reach"
	"github.com/hookback/hookback/server/internal/requestdefaults"
	"github.com/hookback/hookback/server/internal/safety"
	"github.com/hookback/hookback/server/internal/sessions"
	"github.com/hookback/hookback/server/internal/shares"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/studio"
	"github.com/hookback/hookback/server/internal/testagent"
)

// MCP returns the handler of one Model Context Protocol request. Waiting ends when waitCtx
// does.
type MCP interface {
	HandlerFor(waitCtx context.Context, by hub.Caller) http.Handler
}

// Delivery has the metrics of deliveries.
type Delivery interface {
	LivenessConnections() int // held at present
}

// Config configures a Server. Hub, Query and Sessions are required; zero values of the other fields select the
// documented defaults.
type Config struct {
	Hub       *hub.Hub
	Query     *query.Service
	Sessions  *sessions.Service
	Now       *now.Service
	Ratings   *ratings.Follower
	Studio    *studio.Service
	Safety    *safety.Limits
	Defaults  *requestdefaults.Settings
	Alerts    *alerts.Follower
	Coverage  *coverage.Service
	Shares    *shares.Service
	Reach     *reach.Address
	TestAgent *testagent.Agent // nil: test requests fail
	Tickets   *testagent.Tickets
	Notifier  *notify.Notifier // required for the notification routes
	Metrics   *Metrics         // nil: a new registry
	Delivery  Delivery         // for /metrics; nil: no statistics
	Store     store.History    // for /readyz and /metrics; nil: no statistics
	Presence  *stream.Presence // nil: a new one
	Assets    fs.FS            // the dashboard, with index.html at its root; nil: none
	OpenAPI   []byte           // the body of GET /openapi.json
	MCP       MCP              // nil: the route does not exist
	Version   string
	Schema    int64 // of the database

	AllowOrigins []string // origins of other pages that may use the hub, as scheme://host:port
	AllowHosts   []string // host names in addition to the loopback ones, as host or host:port

	// LocalAccounts are the accounts whose local programs need no credentials.
	LocalAccounts peer.Accounts

	TLS         bool           // the hub is reached over TLS: addresses are https, cookies are Secure
	TrustProxy  []netip.Prefix // addresses of proxies whose ProxyHeader is trusted
	ProxyHeader string         // the header with the authenticated user; empty: none

	ReadTimeout  time.Duration // for a whole request, default 10 s
	WriteTimeout time.Duration // for a whole response, default 30 s
	IdleTimeout  time.Duration // between two requests on a connection, default 75 s

	BodyBudget int64 // bytes that large bodies may use in total, default 256 MiB; excess requests get 503

	StreamWriteTimeout time.Duration // for one write to a stream, default 5 s; a slower client is disconnected and resumes
	PingInterval       time.Duration // between heartbeats of a stream, default 15 s; two without a reply end it

	HookHeartbeat time.Duration // between heartbeats of a held hook, default 3 s

	Places middleware.PlaceLimits // requests in progress; excess ones get 503, an excess hook no decision

	Log *slog.Logger // default: discard
}

// Server serves a hub on any number of listeners.
type Server struct {
	Config
	app     *fiber.App
	assets  *assets.Files
	netHTTP middleware.NetHTTP
	streams *stream.Server
	conns   *middleware.Connections
	places  *middleware.Places

	bodies *middleware.BodyLimiter

	requestIDs *requestIDs
	inflating  chan struct{} // see maxInflating

	// stopping is canceled by Shutdown: streams close and long polls return, and requests other than
	// health checks are refused.
	stopping context.Context
	stop     context.CancelFunc
	draining atomic.Bool
	// closing is canceled once the requests have ended: the listeners close.
	closing context.Context
	close   context.CancelFunc
}

// Serve serves connections of ln until Shutdown, which closes ln.
func (s *Server) Serve(ln net.Listener) error { return s.serve(s.conns.Listen(ln, nil)) }

// ServeSocket serves connections of a Unix socket until Shutdown, which closes ln. Accounts
// outside LocalAccounts are disconnected. address is the hub's TCP address, which the
// requests name as their host.
func (s *Server) ServeSocket(ln net.Listener, address net.Addr) error {
	return s.serve(s.conns.Listen(ln, address))
}

func (s *Server) serve(wrapped net.Listener) error {
	// fasthttp ignores a Shutdown that came before Serve.
	context.AfterFunc(s.closing, func() { _ = wrapped.Close() })
	return s.app.Listener(wrapped)
}

// Drain makes the hub not ready, so that load balancers send requests elsewhere. All are served.
func (s *Server) Drain() { s.draining.Store(true) }

// Shutdown refuses new requests, closes every stream with code 1012 (service restart)
// and waits for pending requests and streams until ctx ends. Until then health checks are answered.
// Then it closes the listeners and the remaining connections.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	_ = s.conns.WaitHandled(ctx) // the steps below end when ctx does, too
	s.close()
	s.conns.CloseUnused()
	err := s.app.ShutdownWithContext(ctx)
	if waitErr := s.conns.Wait(ctx); waitErr != nil {
		s.conns.CloseAll()
		s.Log.Warn("open connections closed at shutdown", "err", waitErr)
	}
	return err
}
