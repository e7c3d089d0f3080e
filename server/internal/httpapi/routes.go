package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/routes"
	"github.com/hookback/hookback/server/internal/httpapi/assets"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/httpapi/stream"
	"github.com/hookback/hookback/server/internal/store"
)

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
	if len(handlers) != len(routes.All) {
		panic("httpapi: not every handler has a route")
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
	cfg.BodyBudget = cmp.Or(cfg.BodyBudget, 256<<20)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
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
