package httpapi

import (
	"context"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/routes"
	"github.com/hookback/hookback/server/internal/alerts"
	"github.com/hookback/hookback/server/internal/coverage"
	"github.com/hookback/hookback/server/internal/httpapi/assets"
	"github.com/hookback/hookback/server/internal/httpapi/claims"
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
	"github.com/hookback/hookback/server/internal/traces"
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
	Traces    *traces.Follower // nil: none are sent
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

func (cfg *Config) setDefaults() {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&cfg.ReadTimeout, 10 * time.Second},
		{&cfg.WriteTimeout, 30 * time.Second},
		{&cfg.IdleTimeout, 75 * time.Second},
		{&cfg.StreamWriteTimeout, 5 * time.Second},
		{&cfg.PingInterval, 15 * time.Second},
		{&cfg.HookHeartbeat, 3 * time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	cfg.Places.SetDefaults()
	if cfg.BodyBudget == 0 {
		cfg.BodyBudget = 256 << 20
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Metrics == nil {
		cfg.Metrics = NewMetrics()
	}
	if cfg.Store == nil {
		cfg.Store = noStats{}
	}
	if cfg.Presence == nil {
		cfg.Presence = new(stream.Presence)
	}
}

// noStats is a store without statistics.
type noStats struct{ store.History }

func (noStats) Stats(context.Context) (store.Stats, error) { return store.Stats{}, nil }

// Server serves a hub on any number of listeners.
type Server struct {
	Config
	app     *fiber.App
	assets  *assets.Files
	netHTTP middleware.NetHTTP
	streams *stream.Server
	claims  *claims.Claims
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

// Claims returns who handles which request.
func (s *Server) Claims() *claims.Claims { return s.claims }

// New returns a server. Call Shutdown even if it never served.
func New(cfg Config) *Server {
	cfg.setDefaults()
	s := &Server{
		Config: cfg,
		conns:  middleware.NewConnections(cfg.Places.Idle, cfg.LocalAccounts, cfg.Log),
		places: middleware.NewPlaces(&cfg.Places, cfg.Metrics.refusals),
		bodies: middleware.NewBodyLimiter(cfg.BodyBudget), requestIDs: newRequestIDs(), inflating: make(chan struct{}, maxInflating),
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.closing, s.close = context.WithCancel(context.Background())
	s.netHTTP = middleware.NetHTTP{Stopping: s.stopping, Heartbeat: cfg.HookHeartbeat, WriteTimeout: cfg.StreamWriteTimeout, Log: cfg.Log}
	s.assets = assets.Load(cfg.Assets)
	s.streams = stream.New(s.stopping, stream.Config{
		Hub: cfg.Hub, Query: cfg.Query, Presence: cfg.Presence, Page: s.assets.Page(), PingInterval: cfg.PingInterval, WriteTimeout: cfg.StreamWriteTimeout,
		Open: cfg.Metrics.streams, Slow: cfg.Metrics.slowStreams, Log: cfg.Log,
	})
	s.claims = claims.New(claims.Config{Presence: cfg.Presence, Clock: time.Now, Log: cfg.Log})
	if cfg.Hub != nil {
		s.claims.Store, s.claims.Feed, s.claims.People, s.claims.Clock = cfg.Hub.Store, cfg.Hub.Feed, cfg.Hub.People, cfg.Hub.Clock
		go s.claims.Run(s.stopping)
	}
	s.app = fiber.New(fiber.Config{
		// Without Immutable, strings of a request are overwritten by a later one.
		Immutable:     true,
		CaseSensitive: true,
		StrictRouting: true,
		ErrorHandler:  s.writeError,

		BodyLimit:                    schema.MaxBody,
		StreamRequestBody:            true, // BodyLimiter.Limit reads the bodies
		DisablePreParseMultipartForm: true, // keep the raw bytes
		ReadBufferSize:               16 << 10,
		Concurrency:                  2 * cfg.Places.Total(), // never reached; see places
		ReadTimeout:                  cfg.ReadTimeout,
		WriteTimeout:                 cfg.WriteTimeout,
		IdleTimeout:                  cfg.IdleTimeout,
		DisableStartupMessage:        true,
	})
	s.app.Server().CloseOnShutdown = true
	s.app.Server().KeepHijackedConns = true // streams close their own connections
	routed := middleware.TrackRequest(rejectUnknownMethods(s.app.Server().Handler))
	s.app.Server().Handler = middleware.RejectTwoLengths(s.bodies.Limit(routed))
	s.app.Use(s.logAccess, s.refuseWhileStopping, middleware.AddSecurityHeaders,
		middleware.NewOriginGuard(cfg.AllowHosts, cfg.AllowOrigins, cfg.TLS, cfg.Reach).Check)
	s.addRoutes()
	s.app.Use(s.admit(&routes.Route{}), s.assets.Serve)
	cfg.Metrics.registerGauges(s)
	return s
}

// handlers returns the handlers by "METHOD path".
func (s *Server) handlers() map[string]handler {
	all := map[string]handler{}
	for _, part := range []map[string]handler{
		s.agentHandlers(), s.operationHandlers(),
		s.eventHandlers(), s.requestHandlers(), s.historyHandlers(),
		s.peopleHandlers(), s.shareHandlers(), s.settingHandlers(), s.notificationHandlers(),
	} {
		maps.Copy(all, part)
	}
	return all
}

// addRoutes serves every row of the route table with the handler of its types.
func (s *Server) addRoutes() {
	handlers := s.handlers()
	if len(handlers) != len(routes.All) {
		panic("httpapi: not every handler has a route")
	}
	for i := range routes.All {
		row := &routes.All[i]
		h := handlers[row.Method+" "+row.Path]
		if !h.fits(row) {
			panic("httpapi: no handler with the types of " + row.Method + " " + row.Path)
		}
		chain := []fiber.Handler{s.requireAccess(row), s.admit(row), middleware.CheckQuery(row), func(c *fiber.Ctx) error {
			return h.serve(&request{c.UserContext(), c, row, caller(c)})
		}}
		s.app.Add(row.Method, row.Path, chain...)
		if row.Method == fiber.MethodGet {
			s.app.Add(fiber.MethodHead, row.Path, chain...)
		}
	}
}

// rejectUnknownMethods answers non-standard methods with a problem document. Fiber would
// send plain text.
func rejectUnknownMethods(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if slices.Contains(fiber.DefaultMethods, string(ctx.Method())) {
			next(ctx)
			return
		}
		middleware.WriteSecurityHeaders(ctx)
		middleware.WriteProblem(ctx, schema.ProblemOf(schema.ErrMethod))
	}
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
