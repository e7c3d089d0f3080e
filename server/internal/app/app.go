package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hookback/hookback/dashboard"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/delivery"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/httpapi"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/mcp"
	"github.com/hookback/hookback/server/internal/notify"
	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/redact"
	"github.com/hookback/hookback/server/internal/store"
)

// The ring holds what a page needs to resume after a short absence; who was away
// for longer is served from the store.
const (
	ringFrames = 4096
	ringBytes  = 16 << 20
)

// App is a hub that is ready to run: its port and its database are open.
type App struct {
	cfg       Config
	log       *slog.Logger
	listeners []net.Listener
	store     *store.Store
	people    *auth.Service
	hub       *hub.Hub
	notices   *notify.Notifier
	callback  *delivery.Dispatcher
	metrics   *httpapi.Metrics
	server    *httpapi.Server
}

// New opens the port and the database and wires everything. Its errors are
// sentences for the user. Run or Close what it returns.
func New(ctx context.Context, cfg Config) (*App, error) {
	cfg, err := cfg.withDefaults(func(string) string { return "" })
	if err != nil {
		return nil, err
	}
	a := &App{cfg: cfg, log: cfg.logger(), metrics: httpapi.NewMetrics()}
	if err := a.open(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *App) open(ctx context.Context) (err error) {
	if a.listeners, err = listen(a.cfg.Addr); err != nil {
		return err
	}
	targets, err := delivery.NewDialPolicy(delivery.DialPolicyConfig{
		Allow: a.cfg.CallbackAllow, OwnPorts: []uint16{uint16(portOf(a.listeners[0]))},
	})
	if err != nil {
		return err // it names the flag and the mistake
	}
	if a.cfg.TLSCert != "" {
		if err := overTLS(a.listeners, &a.cfg, a.log); err != nil {
			return err
		}
	}
	if err := a.openStore(ctx); err != nil {
		return err
	}
	provider, err := a.cfg.OIDC.provider(a.publicURL())
	if err != nil {
		return err
	}
	keys, err := passkeys(a.cfg.Passkeys, a.publicURL())
	if err != nil {
		return err
	}
	if a.people, err = auth.Open(ctx, auth.Config{Store: a.store, OIDC: provider, Passkeys: keys, Clock: a.cfg.Clock, Log: a.log}); err != nil {
		return err
	}
	if err := a.mayListen(); err != nil {
		return err
	}
	a.callback = delivery.New(delivery.Config{
		Store: a.store, DialPolicy: targets, Clock: a.cfg.Clock, Log: a.log,
		AwaitResponseSent: func(ctx context.Context, id schema.EventID) error { return a.hub.AwaitResponseSent(ctx, id) },
		Abandon: func(ctx context.Context, id schema.EventID, url string) error {
			return a.hub.Abandon(ctx, id, url, hub.AgentGone)
		},
	})
	var redactor *redact.Redactor
	if !a.cfg.KeepSecrets {
		redactor = redact.New(redact.Options{})
	}
	a.notices = notify.New(notify.Config{
		Store: a.store, Base: a.publicURL(), Clock: a.cfg.Clock, Log: a.log,
		SetNotifications: func(ctx context.Context, id schema.EventID, list []schema.Notification, counts *schema.NotificationCounts) error {
			return a.hub.SetNotifications(ctx, id, list, counts)
		},
		People:     func(ctx context.Context) ([]schema.Person, error) { return a.people.Accounts(ctx), nil },
		IdentityOf: func(name string) (auth.Identity, bool) { return a.people.IdentityOf(name, "link") },
		CreatedAt: func(name string) time.Time {
			at, _ := a.people.CreatedAt(name)
			return at
		},
		ResolveRecipients: a.people.ResolveRecipients, Watching: func(person string) bool { return a.server.ViewerCount(person) },
	})
	a.hub = hub.New(hub.Config{
		Store: a.store, Feed: feed.New(a.store.Head(), ringFrames, ringBytes),
		Redactor: redactor, Blocked: targets.Check, Dispatch: a.callback.Dispatch, Lifeline: a.callback.Lifeline, Lookup: peer.ProcessOf,
		LogAppended: func() { a.notices.LogAppended() },
		Control:     a.callback.Control, NudgeAfter: a.cfg.NudgeAfter,
		People:  a.people,
		Version: a.cfg.Version, Clock: a.cfg.Clock, Log: a.log,
	})
	page, err := fs.Sub(dashboard.FS, "dist")
	if err != nil {
		return err
	}
	tools := mcp.New(mcp.Config{Hub: a.hub, Version: a.cfg.Version, Log: a.log})
	a.server = httpapi.New(httpapi.Config{
		MCP: tools.For,
		Hub: a.hub, Metrics: a.metrics, Stats: a.store.Stats, Assets: page, OpenAPI: schema.OpenAPI, Version: a.cfg.Version,
		Notifier:     a.notices,
		AllowOrigins: a.cfg.AllowOrigins, AllowHosts: a.cfg.AllowHosts, Log: a.log,
		TLS: a.cfg.TLSCert != "", TrustProxy: a.cfg.trusted(), ProxyHeader: a.cfg.ProxyHeader,
	})
	return nil
}

func (a *App) openStore(ctx context.Context) (err error) {
	path := strings.TrimPrefix(a.cfg.DB, "sqlite:")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("the database's directory can't be made (%w): choose another file with -db", err)
	}
	a.store, err = store.Open(ctx, store.Config{
		Path: a.cfg.DB, Clock: a.cfg.Clock, Log: a.log, Committed: a.metrics.Committed,
	})
	return err // it names the file and what to do
}

// page is where people open the dashboard: at one address, since whoever signed in at
// localhost is nobody at 127.0.0.1.
func (a *App) page() string { return a.cfg.base(a.listeners[0].Addr().String()) }

// URL is where programs reach the hub.
func (a *App) URL() string {
	addr := a.listeners[0].Addr().String()
	if a.cfg.TLSCert != "" {
		return a.cfg.base(addr)
	}
	return "http://" + addr
}

// publicURL is where people reach the hub, for the links that they are sent.
func (a *App) publicURL() string {
	if a.cfg.PublicURL != "" {
		return a.cfg.PublicURL
	}
	return a.page()
}

// Run serves until ctx ends or a part of the hub fails, and then stops everything in
// reverse order and closes it: streams and requests first, within cfg.StopWithin,
// the database last.
func (a *App) Run(ctx context.Context) error {
	a.greet(ctx)
	// Workers outlive ctx: what the last requests committed is still published
	// and dialled while the server shuts down.
	workers, stopWorkers := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWorkers()
	failed := make(chan error, len(a.listeners)+9)
	var group sync.WaitGroup
	start := func(what string, run func() error) {
		group.Go(func() {
			if err := run(); err != nil {
				failed <- fmt.Errorf("%s: %w", what, err)
			}
		})
	}
	start("people", func() error { return a.people.Run(workers) })
	start("deadlines", func() error { return a.hub.Run(workers) })
	start("sums", func() error { return a.hub.RunProjector(workers) })
	start("callbacks", func() error { return a.callback.Run(workers) })
	start("watching agents", func() error { return a.callback.Watch(workers) })
	start("lifelines", func() error { return a.callback.RunLiveness(workers) })
	start("notices", func() error { return a.notices.Run(workers) })
	start("metrics", func() error { return a.metrics.Run(workers, a.hub) })
	start("search index", func() error { return a.store.RunIndexer(workers) })
	start("retention", func() error { return a.prune(workers) })
	for _, ln := range a.listeners {
		start("listening", func() error { return a.server.Serve(ln) })
	}

	var err error
	select {
	case <-ctx.Done():
		a.log.Info("stopping", "within", a.cfg.StopWithin)
	case err = <-failed:
	}
	err = errors.Join(err, a.shutdown())
	stopWorkers()
	group.Wait()
	return errors.Join(err, a.Close())
}

func (a *App) shutdown() error {
	ctx, cancel := context.WithTimeout(context.Background(), a.cfg.StopWithin)
	defer cancel()
	err := a.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // cut off, as announced
	}
	return err
}

// Close gives back the port and the database. Run does it by itself.
func (a *App) Close() error {
	for _, ln := range a.listeners {
		_ = ln.Close() // closed already when it was served
	}
	if a.server != nil {
		_ = a.shutdown()
	}
	if a.store == nil {
		return nil
	}
	return a.store.Close()
}

// greet tells a person at a terminal what to do next.
func (a *App) greet(ctx context.Context) {
	_, _ = fmt.Fprintf(a.cfg.Stdout, `Hookback is listening.

  Dashboard   %s
  Database    %s
  First ask   %sgo run ./agentclient/cmd/hookback ask "May I delete ./build?"
%s
Ctrl-C stops it.
`, a.page(), a.cfg.DB, a.whereForClients(), a.signInLine(ctx))
}

// signInLine is how somebody makes a hub theirs that nobody owns yet.
func (a *App) signInLine(ctx context.Context) string {
	code, err := a.people.OwnerCode(ctx)
	switch {
	case ctx.Err() != nil:
		return ""
	case err != nil:
		a.log.Error("making a sign-in link", "err", err)
		return ""
	case code == "":
		return ""
	default:
		return "  Sign in     " + a.page() + "/#sign-in=" + code + "   (works once, for 15 minutes)\n"
	}
}

// whereForClients tells a client of a hub that is not where it looks by itself.
func (a *App) whereForClients() string {
	if a.URL() == "http://"+defaultAddr {
		return ""
	}
	return "HOOKBACK_URL=" + a.URL() + " "
}

// pruneEvery is how often retention looks for what may go.
const pruneEvery = 10 * time.Minute

// prune keeps the database within its retention until ctx ends.
func (a *App) prune(ctx context.Context) error {
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	for {
		pruned, err := a.store.Prune(ctx, a.policy())
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			a.log.Error("retention could not remove old events; it tries again", "in", pruneEvery, "err", err)
		case pruned != store.PruneResult{}:
			a.log.Info("retention removed", "events", pruned.Events, "questions", pruned.Questions)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// keepFigures is a day more than an overview can ask for, whatever the events'
// retention.
const keepFigures = (schema.MaxDays + 1) * day

func (a *App) policy() store.RetentionPolicy {
	now := a.cfg.Clock()
	var p store.RetentionPolicy
	if a.cfg.Retention > 0 {
		p.EventsBefore = now.Add(-a.cfg.Retention)
	}
	if a.cfg.RetentionQuestions > 0 {
		p.QuestionsBefore = now.Add(-a.cfg.RetentionQuestions)
	}
	p.MaxBytes = max(a.cfg.RetentionSize, 0)
	p.ProjectionsBefore = now.Add(-keepFigures)
	return p
}
