package httpapi

import (
	"context"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/notify"
	"github.com/hookback/hookback/server/internal/store"
)

// Config is what a Server is made of. Hub is required; zero values of the rest
// mean the documented defaults.
type Config struct {
	Hub      *hub.Hub
	Notifier *notify.Notifier // required where a channel is used
	Metrics  *Metrics         // nil: none are kept
	// Stats tells whether the store works, for /readyz and /metrics; nil: it does.
	Stats   func(context.Context) (store.Stats, error)
	Assets  fs.FS  // the dashboard, index.html at its root; nil: none
	OpenAPI []byte // the body of GET /openapi.json
	// MCP handles one request of the Model Context Protocol, which ends when until does;
	// nil: there is none.
	MCP     func(until context.Context, by hub.Caller) http.Handler
	Version string

	AllowOrigins []string // pages of other origins that may use the hub, as scheme://host:port
	AllowHosts   []string // names beside the loopback ones, as host or host:port

	TLS         bool           // the listeners speak it: addresses are https, cookies Secure
	TrustProxy  []netip.Prefix // where a proxy may come from that says in ProxyHeader who asks
	ProxyHeader string         // empty: none is listened to

	ReadTimeout  time.Duration // for a whole request, 10 s
	WriteTimeout time.Duration // for a whole response, 30 s
	IdleTimeout  time.Duration // between two requests of a connection, 75 s

	BodyBudget int64 // bytes that the big bodies under way may take together, 256 MiB; beyond it they get 503

	StreamWriteTimeout time.Duration // for a write to a stream, 5 s; who is slower is cut off and resumes
	PingInterval       time.Duration // between pings on a stream, 20 s; two unanswered ones end it

	HookHeartbeat time.Duration // between the spaces that a hook gets while it waits, 3 s
	MaxHeldHooks  int           // hooks that wait at a time, 512; others get no decision

	Log *slog.Logger // discards
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
		{&cfg.PingInterval, 20 * time.Second},
		{&cfg.HookHeartbeat, 3 * time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if cfg.MaxHeldHooks == 0 {
		cfg.MaxHeldHooks = 512
	}
	if cfg.BodyBudget == 0 {
		cfg.BodyBudget = 256 << 20
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Metrics == nil {
		cfg.Metrics = NewMetrics()
	}
	if cfg.Stats == nil {
		cfg.Stats = func(context.Context) (store.Stats, error) { return store.Stats{}, nil }
	}
}

// Server answers for a hub on any number of listeners.
type Server struct {
	Config
	app    *fiber.App
	guard  *originGuard
	assets *assets
	conns  connSet

	presence  presence
	hookSlots chan struct{} // full when no more may wait
	bodies    bodyLimiter
	buffers   sync.Pool // :: *[]byte, for writes to streams

	// stopping ends with Shutdown: streams say goodbye, waiting pulls return.
	stopping context.Context
	stop     context.CancelFunc
}

// New makes a server. Shutdown it even when it never served.
func New(cfg Config) *Server {
	cfg.setDefaults()
	s := &Server{Config: cfg, guard: newOriginGuard(cfg.AllowHosts, cfg.AllowOrigins)}
	s.guard.tls = cfg.TLS
	s.bodies.limit = cfg.BodyBudget
	s.hookSlots = make(chan struct{}, cfg.MaxHeldHooks)
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.assets = loadAssets(s.stopping, cfg.Assets)
	s.app = fiber.New(fiber.Config{
		// Without Immutable every string of a request becomes the next one's.
		Immutable:     true,
		CaseSensitive: true,
		StrictRouting: true,
		ErrorHandler:  s.writeError,

		BodyLimit:                    schema.MaxBody,
		StreamRequestBody:            true, // limitBody reads them
		DisablePreParseMultipartForm: true, // keep the bytes as they came
		ReadBufferSize:               16 << 10,
		Concurrency:                  4096,
		ReadTimeout:                  cfg.ReadTimeout,
		WriteTimeout:                 cfg.WriteTimeout,
		IdleTimeout:                  cfg.IdleTimeout,
		DisableStartupMessage:        true,
	})
	s.app.Server().CloseOnShutdown = true
	s.app.Server().KeepHijackedConns = true // streams close their own
	s.app.Server().Handler = s.limitBody(s.rejectUnknownMethods(s.app.Server().Handler))
	s.app.Use(s.logAccess, s.addSecurityHeaders, s.guardOrigin)
	handlers := s.handlers()
	for _, r := range schema.Routes {
		admit, handler := s.requireAccess(r), handlers[r.Method+" "+r.Path]
		s.app.Add(r.Method, r.Path, admit, handler)
		if r.Method == fiber.MethodGet {
			s.app.Add(fiber.MethodHead, r.Path, admit, handler)
		}
	}
	s.app.Use(s.servePage)
	cfg.Metrics.registerGauges(s)
	return s
}

// rejectUnknownMethods answers a method that no HTTP server knows; Fiber would do it with
// plain text.
func (s *Server) rejectUnknownMethods(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if slices.Contains(fiber.DefaultMethods, string(ctx.Method())) {
			next(ctx)
			return
		}
		writeSecurityHeaders(ctx)
		writeProblem(ctx, schema.ProblemOf(schema.ErrMethod))
	}
}

// Serve answers connections of ln until Shutdown, which closes it.
func (s *Server) Serve(ln net.Listener) error {
	wrapped := s.newListener(ln)
	// fasthttp forgets a Shutdown that came before Serve.
	context.AfterFunc(s.stopping, func() { _ = wrapped.Close() })
	return s.app.Listener(wrapped)
}

// Shutdown stops taking requests, tells every stream to come back later (close
// code 1012), waits for the requests and streams under way until ctx ends and
// then cuts off what is left.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	s.conns.closeUnused()
	err := s.app.ShutdownWithContext(ctx)
	if waitErr := s.conns.wait(ctx); waitErr != nil {
		s.conns.closeAll()
		s.Log.Warn("some connections had to be cut off", "err", waitErr)
	}
	<-s.assets.ready
	return err
}
