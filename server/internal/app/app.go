package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/hookback/hookback/dashboard"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/alerts"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/coverage"
	"github.com/hookback/hookback/server/internal/delivery"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/flows"
	"github.com/hookback/hookback/server/internal/httpapi"
	"github.com/hookback/hookback/server/internal/httpapi/stream"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/live"
	"github.com/hookback/hookback/server/internal/mcp"
	"github.com/hookback/hookback/server/internal/netguard"
	"github.com/hookback/hookback/server/internal/notify"
	"github.com/hookback/hookback/server/internal/now"
	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/ratings"
	"github.com/hookback/hookback/server/internal/reach"
	"github.com/hookback/hookback/server/internal/redact"
	"github.com/hookback/hookback/server/internal/requestdefaults"
	"github.com/hookback/hookback/server/internal/safety"
	"github.com/hookback/hookback/server/internal/sessions"
	"github.com/hookback/hookback/server/internal/shares"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/studio"
	"github.com/hookback/hookback/server/internal/testagent"
)

// Size of the feed's ring buffer. It holds the frames that a dashboard needs to resume after a short
// disconnect; after a longer one it reads from the store.
const (
	ringFrames = 4096
	ringBytes  = 16 << 20
)

// App is a hub that is ready to run: its port and database are open.
type App struct {
	cfg        Config
	log        *slog.Logger
	listeners  []net.Listener
	socket     net.Listener // Unix socket; nil: none
	store      store.Store
	feed       *feed.Feed
	auth       *auth.Service
	hub        *hub.Hub
	query      *query.Service
	sessions   *sessions.Service
	ratings    *ratings.Follower
	live       *live.Tracker
	safety     *safety.Follower
	alerts     *alerts.Follower
	coverage   *coverage.Service
	reach      *reach.Address
	tests      *testagent.Agent
	notifier   *notify.Notifier
	dispatcher *delivery.Dispatcher
	metrics    *httpapi.Metrics
	server     *httpapi.Server
	presence   *stream.Presence
	reloaders  reloaders

	retentionClock retentionClock
	signInLink     string // file with the link of the first person; empty: none
}

// New opens the port and the database and builds the hub. Its errors are written for
// users. The caller must Run or Close the result.
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
	dialPolicy, err := delivery.NewDialPolicy(delivery.DialPolicyConfig{
		Allow: a.cfg.CallbackAllow, OwnPorts: []uint16{uint16(portOf(a.listeners[0]))},
	})
	if err != nil {
		return err // the error names the flag
	}
	if a.cfg.TLSCert != "" {
		if err := wrapTLS(a.listeners, &a.cfg, a.log); err != nil {
			return err
		}
	}
	if err := a.openSocket(); err != nil {
		return err
	}
	if a.store, err = openStore(ctx, &a.cfg, portOf(a.listeners[0]), a.metrics); err != nil {
		return err // the error names the file and the next step
	}
	a.feed, a.live = feed.New(a.store.Head(), ringFrames, ringBytes), live.New(a.store)
	a.coverage = coverage.New(coverage.Config{Store: a.store, Machine: a.cfg.Machine, Log: a.log})
	if a.retentionClock, err = a.openRetentionClock(ctx); err != nil {
		return err
	}
	provider, err := a.cfg.OIDC.newProvider(a.publicURL())
	if err != nil {
		return err
	}
	if a.reach, err = reach.Open(ctx, reach.Config{
		Store: a.store, Local: a.dashboardURL(), Flag: a.cfg.PublicURL, ProxyURL: a.cfg.NotifyProxy, Machine: machineName(), Log: a.log,
	}); err != nil {
		return err
	}
	passkeys, err := newPasskeys(a.cfg.Passkeys, a.publicURL(), a.reach)
	if err != nil {
		return err
	}
	if a.auth, err = auth.Open(ctx, auth.Config{Store: a.store, OIDC: provider, Passkeys: passkeys, Clock: a.cfg.Clock, Log: a.log, Feed: a.feed}); err != nil {
		return err
	}
	if err := a.checkPublicListen(); err != nil {
		return err
	}
	var redactor *redact.Redactor
	if !a.cfg.KeepSecrets {
		redactor = redact.New()
	}
	guard, err := netguard.New(netguard.Config{
		Allow: a.cfg.NotifyAllow, OwnPorts: []uint16{uint16(portOf(a.listeners[0]))}, ProxyURL: a.cfg.NotifyProxy,
	})
	if err != nil {
		return fmt.Errorf("-notify-allow and -notify-proxy: %w", err)
	}
	defaults, err := requestdefaults.Open(ctx, a.store, a.auth)
	if err != nil {
		return err
	}
	a.query = query.New(query.Config{Store: a.store, Feed: a.feed, People: a.auth, Version: a.cfg.Version, Clock: a.cfg.Clock})
	a.presence = new(stream.Presence)
	a.notifier = notify.New(notify.Config{
		Store: a.store, Feed: a.feed, Accounts: a.auth, Viewers: a.presence, Needs: a.query,
		Guard: guard, Reach: a.reach, Clock: a.cfg.Clock, Log: a.log,
	})
	a.tests = testagent.New(testagent.Config{Store: a.store, Feed: a.feed, URL: a.URL(), HubKey: a.store.Identity().Public(), Log: a.log})
	a.hub = hub.New(hub.Config{
		Store: a.store, Feed: a.feed,
		PendingLimits: pendingLimits(a.cfg.MaxPending),
		Redactor:      redactor, DialPolicy: dialPolicy, Address: a.publicURL(), Processes: peer.Processes{},
		NudgeAfter: a.cfg.NudgeAfter, People: a.auth, Coverage: a.coverage, Tests: a.tests, Reach: a.notifier, Defaults: defaults,
		FreezeWriter: a.freezeWriter(), Clock: a.cfg.Clock, Log: a.log,
	})
	a.dispatcher = delivery.New(delivery.Config{
		Store: a.store, Feed: a.feed, Hub: a.hub, DialPolicy: dialPolicy, Address: a.publicURL(), Clock: a.cfg.Clock, Log: a.log,
	})
	limits, err := safety.OpenLimits(ctx, a.store, a.cfg.FreezeAfter)
	if err != nil {
		return err
	}
	spending := &safety.SpendRule{Store: a.store, Hub: a.hub, Limits: limits, Clock: a.cfg.Clock, Log: a.log}
	a.sessions = sessions.New(sessions.Config{Store: a.store, Feed: a.feed, Executions: a.hub, Spending: spending, Clock: a.cfg.Clock, Log: a.log})
	a.notifier.Reports = a.sessions
	a.ratings = ratings.New(ratings.Config{Store: a.store, Feed: a.feed, Log: a.log})
	if err := a.openFollowers(ctx, defaults, limits); err != nil {
		return err
	}
	a.safety = safety.New(safety.Config{Store: a.store, Live: a.live, Feed: a.feed, Hub: a.hub, Limits: limits, Log: a.log})
	assets, err := fs.Sub(dashboard.FS, "dist")
	if err != nil {
		return err
	}
	tools := mcp.New(mcp.Config{Hub: a.hub, Query: a.query, Sessions: a.sessions, Version: a.cfg.Version, Log: a.log})
	a.server = httpapi.New(httpapi.Config{
		MCP: tools, Presence: a.presence,
		Hub: a.hub, Query: a.query, Sessions: a.sessions,
		Now:     now.New(now.Config{Live: a.live, Freezes: a.store, Sessions: a.sessions, People: a.auth, Clock: a.cfg.Clock}),
		Ratings: a.ratings, Studio: studio.New(studio.Config{Calls: a.ratings, Clock: a.cfg.Clock}), Safety: limits,
		Defaults: defaults, Alerts: a.alerts, Coverage: a.coverage, Reach: a.reach, TestAgent: a.tests,
		Tickets: &testagent.Tickets{Flows: flows.Flows{Store: a.store, Clock: a.cfg.Clock}}, Metrics: a.metrics,
		Store: a.store, Assets: assets, OpenAPI: schema.OpenAPI, Version: a.cfg.Version, Schema: a.store.Schema(),
		Shares:   shares.New(shares.Config{Store: a.store, Sessions: a.sessions, People: a.auth, Clock: a.cfg.Clock}),
		Notifier: a.notifier, Delivery: a.dispatcher,
		AllowOrigins: a.cfg.AllowOrigins, AllowHosts: a.cfg.AllowHosts, Log: a.log,
		LocalAccounts: a.cfg.localAccounts(),
		TLS:           a.cfg.TLSCert != "", TrustProxy: a.cfg.trustedProxies(), ProxyHeader: a.cfg.ProxyHeader,
	})
	return nil
}

// openFollowers builds the workers that follow the log and change nothing in it, and the list of
// followers of the changes of other hubs.
func (a *App) openFollowers(ctx context.Context, defaults *requestdefaults.Settings, limits *safety.Limits) error {
	alertRules, err := alerts.OpenRules(ctx, a.store, a.feed)
	if err != nil {
		return err
	}
	a.reloaders = reloaders{
		"accounts": a.auth, "rules": a.hub, "channels": a.notifier, "address": a.reach,
		"defaults": defaults, "limits": limits, "alert rules": alertRules,
	}
	a.store.ObservePolicy(a.reloaders.reload)
	a.store.ObserveCurrent(func(isCurrent bool) { a.auth.SetStale(!isCurrent) })
	a.alerts = alerts.New(alerts.Config{Store: a.store, Live: a.live, Feed: a.feed, Rules: alertRules, Clock: a.cfg.Clock, Log: a.log})
	return nil
}

// dashboardURL returns the one address at which people open the dashboard. There is only
// one because sessions belong to a host: a person signed in at localhost is not signed in
// at 127.0.0.1.
func (a *App) dashboardURL() string { return a.cfg.baseURL(a.listeners[0].Addr().String()) }

// URL returns the base URL for programs.
func (a *App) URL() string {
	addr := a.listeners[0].Addr().String()
	if a.cfg.TLSCert != "" {
		return a.cfg.baseURL(addr)
	}
	return "http://" + addr
}

// publicURL returns the address at start, for OIDC and the first passkeys. Links start with that of
// package reach.
func (a *App) publicURL() string {
	if a.cfg.PublicURL != "" {
		return a.cfg.PublicURL
	}
	return a.dashboardURL()
}

// Run serves until ctx ends or a worker fails. It then stops in reverse order: streams and
// requests first, within cfg.StopWithin, and the database last.
func (a *App) Run(ctx context.Context) error {
	if a.cfg.ReadyJSON {
		a.printReady(ctx)
	} else {
		a.printGreeting(ctx)
	}
	a.log.Info("hub started", "version", a.cfg.Version, "database", a.cfg.databaseName(), "bus", a.cfg.Bus,
		"schema", a.store.Schema(), "url", a.URL(), "events", a.store.Head())
	// Workers outlive ctx, so that commits of the last requests are still published and
	// delivered during shutdown.
	workers, stopWorkers := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWorkers()
	running := &workerGroup{failed: make(chan error, 1)}
	start := func(name string, run func() error) {
		running.start(name, func() error {
			if err := run(); workers.Err() == nil {
				return err
			}
			return nil
		})
	}
	start("accounts", func() error { return a.auth.Run(workers) })
	start("deadlines", func() error { return a.hub.Run(workers) })
	others := &cluster{a.store, a.feed, &a.hub.Viewers, a.presence}
	start("other hubs", func() error { return others.run(workers) })
	for name, run := range a.leaderWorkers() {
		start(name, func() error { return others.whileLeading(workers, run) })
	}
	start("leadership", func() error { return others.whileLeading(workers, others.reportLeadership) })
	start("coverage", func() error { return a.coverage.Run(workers) })
	start("public address", func() error { return a.reach.Run(workers) })
	start("delivery", func() error { return a.dispatcher.Run(workers) })
	start("liveness probes", func() error { return a.dispatcher.RunProber(workers) })
	start("liveness connections", func() error { return a.dispatcher.RunLiveness(workers) })
	start("announcements", func() error { return a.notifier.RunAnnouncements(workers) })
	start("test requests", func() error { return a.tests.Run(workers) })
	start("metrics", func() error { return a.metrics.Run(workers, a.query) })
	start("database", func() error { return a.store.Wait(workers) })
	if a.signInLink != "" {
		start("sign-in link", func() error { return a.runSignInLink(workers) })
	}
	for _, ln := range a.listeners {
		start("listening", func() error { return a.server.Serve(ln) })
	}
	if a.socket != nil {
		start("socket", func() error { return a.server.ServeSocket(a.socket, a.listeners[0].Addr()) })
	}
	notifySystemd(a.cfg.NotifySocket, "READY=1", a.log)
	if a.cfg.TestRequest {
		start("test request", func() error { return a.runTestRequest(workers) })
	}

	var err error
	select {
	case <-ctx.Done():
		notifySystemd(a.cfg.NotifySocket, "STOPPING=1", a.log)
		err = a.drain(running.failed)
		a.log.Info("stopping", "timeout", a.cfg.StopWithin)
	case err = <-running.failed:
	}
	err = errors.Join(err, a.shutdown())
	stopWorkers()
	running.Wait()
	return errors.Join(err, a.Close())
}

// leaderWorkers do the work that one hub does for all of a database. Each of them reads its position in the log when
// its run begins, and commits together with it, so two leaders for a moment do nothing twice.
func (a *App) leaderWorkers() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"projections": a.sessions.Run, "ratings": a.ratings.Run, "alerts": a.alerts.Run, "automatic freeze": a.safety.Run,
		"notifications": func(ctx context.Context) error { return a.notifier.Run(ctx, a.hub) }, "search index": a.store.RunIndexer, "retention": a.runRetention, "audit log heads": a.runLedgerHeads,
	}
}

// runTestRequest sends a test request and prints each of its steps as one JSON line, for the program
// that started the hub. A failure does not stop the hub.
func (a *App) runTestRequest(ctx context.Context) error {
	id, err := a.tests.Start(ctx)
	if err == nil {
		out := json.NewEncoder(a.cfg.Stdout)
		err = a.tests.Follow(ctx, id, func(p testagent.Progress) {
			_ = out.Encode(map[string]testagent.Progress{"testRequest": p}) // its reader is gone, and the hub continues
		})
	}
	if err != nil && ctx.Err() == nil {
		a.log.Error("test request not sent", "err", err)
	}
	return nil
}

// workerGroup runs workers until all have ended.
type workerGroup struct {
	sync.WaitGroup
	failed chan error // the first failure
}

func (g *workerGroup) start(name string, run func() error) {
	g.Go(func() {
		if err := run(); err != nil {
			select {
			case g.failed <- fmt.Errorf("%s: %w", name, err):
			default: // the hub stops already
			}
		}
	})
}

// drain serves for cfg.Drain while the hub is not ready, or until a worker fails.
func (a *App) drain(failed <-chan error) error {
	if a.cfg.Drain == 0 {
		return nil
	}
	a.log.Info("draining", "time", a.cfg.Drain)
	a.server.Drain()
	select {
	case <-time.After(a.cfg.Drain):
		return nil
	case err := <-failed:
		return err
	}
}

func (a *App) shutdown() error {
	ctx, cancel := context.WithTimeout(context.Background(), a.cfg.StopWithin)
	defer cancel()
	err := a.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // remaining connections are closed, as documented
	}
	return err
}

// Close releases the port and the database. Run calls it.
func (a *App) Close() error {
	for _, ln := range a.listeners {
		_ = ln.Close() // Serve has closed it already
	}
	if a.socket != nil {
		_ = a.socket.Close() // removes the file
	}
	if a.server != nil {
		_ = a.shutdown()
	}
	if a.store == nil {
		return nil
	}
	a.removeFreezesFile()
	if err := a.store.SignLedgerHead(context.Background()); err != nil && !errors.Is(err, schema.ErrStopping) {
		a.log.Error("audit log head not signed", "err", err)
	}
	return a.store.Close()
}

// printGreeting prints the addresses and the next steps.
func (a *App) printGreeting(ctx context.Context) {
	_, _ = fmt.Fprintf(a.cfg.Stdout, `Hookback is running.

  Dashboard   %s
%s%s  Database    %s
%s  Key         %s
%s  Try it      %sgo run ./agentclient/cmd/hookback ask "May I delete ./build?"

Press Ctrl-C to stop.
`, a.dashboardURL(), a.ownerSignInHint(ctx), a.socketHint(), a.cfg.databaseName(),
		a.busHint(), a.store.Identity().ID(), a.localAccessHint(), a.clientHint())
}

// printReady prints one line of JSON, with which the program that started the hub can open its page.
func (a *App) printReady(ctx context.Context) {
	_ = a.ownerSignInHint(ctx) // the line is for people; it also writes the file
	_ = json.NewEncoder(a.cfg.Stdout).Encode(struct {
		URL        string `json:"url"`
		Version    string `json:"version"`
		SignInLink string `json:"signInLink,omitempty"`
	}{a.dashboardURL(), a.cfg.Version, a.signInLink})
}

// busHint returns a line with the bus, if there can be other hubs.
func (a *App) busHint() string {
	if a.cfg.Bus == "" {
		return ""
	}
	return "  Bus         " + a.cfg.Bus + "\n"
}

// socketHint returns a line with the path of the Unix socket, if there is one.
func (a *App) socketHint() string {
	if a.socket == nil {
		return ""
	}
	return "  Socket      " + a.socket.Addr().String() + "\n"
}

// localAccessHint returns a line if the hub cannot distinguish the accounts of this machine.
func (a *App) localAccessHint() string {
	if peer.KnowsOwners || a.cfg.localAccounts().All {
		return ""
	}
	return "  Accounts    this system does not name the account behind a TCP connection: until you lock\n" +
		"              the hub, every account of this machine can read and answer\n"
}

// ownerSignInHint returns a line with a sign-in link if the hub has no owner.
func (a *App) ownerSignInHint(ctx context.Context) string {
	code, err := a.auth.OwnerCode(ctx)
	switch {
	case ctx.Err() != nil:
		return ""
	case err != nil:
		a.log.Error("sign-in link not created", "err", err)
		return ""
	case code == "":
		return ""
	}
	link := a.dashboardURL() + "/#sign-in=" + code
	if !a.cfg.ReadyJSON && !isReadByOthers(a.cfg.Stdout) {
		return "  Sign in     " + link + "   (works once, within 15 minutes)\n"
	}
	if a.signInLink, err = writeSignInLink(&a.cfg, link); err != nil {
		a.log.Error("sign-in link not written", "err", err)
		return ""
	}
	return "  Sign in     with the link in " + a.signInLink + "   (works once, within 15 minutes)\n"
}

// runSignInLink removes the file of the sign-in link when the link was used or has expired, or
// when ctx ends.
func (a *App) runSignInLink(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, auth.SignInLinkLifetime)
	defer stop()
	_ = a.feed.Follow(ctx, feed.Accounts, func(b *feed.Batch) error {
		// The first batch may hold changes from before the link was made.
		if !b.Rescan || a.auth.HasOwner() {
			stop()
		}
		return nil
	})
	if err := os.Remove(a.signInLink); err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.log.Error("sign-in link not removed", "err", err)
	}
	return nil
}

// clientHint returns the HOOKBACK_URL assignment that a command needs, or an empty string
// if the hub is at the default address.
func (a *App) clientHint() string {
	if a.URL() == "http://"+defaultAddr {
		return ""
	}
	return "HOOKBACK_URL=" + a.URL() + " "
}

// pruneEvery is the interval of retention runs.
const pruneEvery = 10 * time.Minute

// runRetention removes old events at start and every pruneEvery until ctx ends.
func (a *App) runRetention(ctx context.Context) error {
	for {
		policy := a.retentionPolicy(time.Now())
		pruned, err := a.store.Prune(ctx, policy)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // stopping is no error
		case err != nil:
			a.log.Error("retention failed", "retry_in", pruneEvery, "err", err)
		default:
			a.metrics.RecordRetention(pruned, a.cfg.Clock(), policy.ProjectionsBefore.IsZero())
		}
		if pruned != (store.PruneResult{}) {
			a.log.Info("retention removed old data", "events", pruned.Events, "questions", pruned.Questions)
		}
		if !feed.Sleep(ctx, pruneEvery) {
			return nil
		}
	}
}

// projectionRetention is one day more than the longest overview, independent of the
// retention of events.
const projectionRetention = (history.MaxDays + 1) * day

// testRetention is how long test requests are kept.
const testRetention = 24 * time.Hour

// retentionPolicy returns the policy of a run at this monotonic time. Nothing is removed because of
// its age while the clock is in doubt.
func (a *App) retentionPolicy(running time.Time) store.RetentionPolicy {
	p := store.RetentionPolicy{MaxBytes: max(a.cfg.RetentionSize, 0)}
	now := a.cfg.Clock()
	trusted, jump := a.retentionClock.check(now, running)
	if jump > 0 {
		a.log.Warn("the clock is ahead of the newest event or was set forward: old events are kept until the hub has run for an hour, because a wrong clock would remove the history; -trust-clock removes them immediately",
			"clock", now, "ahead", jump)
	}
	if !trusted {
		return p
	}
	if a.cfg.Retention > 0 {
		p.EventsBefore = now.Add(-a.cfg.Retention)
	}
	if a.cfg.RetentionQuestions > 0 {
		p.QuestionsBefore = now.Add(-a.cfg.RetentionQuestions)
	}
	p.TestsBefore = now.Add(-testRetention)
	p.ProjectionsBefore = now.Add(-projectionRetention)
	return p
}

// openRetentionClock must run before the hub stores an event at a time that may be wrong.
func (a *App) openRetentionClock(ctx context.Context) (retentionClock, error) {
	c := retentionClock{trusts: a.cfg.TrustClock}
	newest, err := a.store.Find(ctx, store.Filter{Limit: 1})
	if err == nil && len(newest) > 0 {
		c.expected = newest[0].ReceivedAt
	}
	return c, err
}
