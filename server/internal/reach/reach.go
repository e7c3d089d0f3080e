// Package reach holds the hub's public address: the base of links that people open on other
// devices. It checks that this hub answers there.
package reach

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rsc.io/qr"

	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/netguard"
	"github.com/hookback/hookback/server/internal/store"
)

// checkEvery is the interval of checks.
const checkEvery = 10 * time.Minute

// Config holds the dependencies of an Address. Store and Local are required.
type Config struct {
	Store    store.Store
	Local    string         // the address that the hub listens on, as browsers see it
	Flag     string         // of -public-url; empty: none
	ProxyURL string         // for requests, as of netguard.Config
	Machine  string         // the name of the machine
	Roots    *x509.CertPool // nil: of the system
	Log      *slog.Logger   // default: discard
}

// Address is the hub's public address. Its methods are safe for concurrent use.
type Address struct {
	Config
	checker   checker
	mu        sync.Mutex // serializes changes and checks
	current   atomic.Pointer[current]
	candidate atomic.Pointer[string] // host of an address that is being checked before it is saved
	settings  *store.Settings[control.ReachSettings]
	changed   feed.Wakeup // another hub has set an address, which is not checked yet
}

// current is the address as applied.
type current struct {
	control.Reach
	host  string // of a setting that is not loopback, as browsers send it; empty: none
	isSet bool   // by a flag or an admin
}

// Open reads the stored address.
func Open(ctx context.Context, cfg Config) (*Address, error) {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	a := &Address{Config: cfg, checker: checker{cfg.Store, cfg.ProxyURL, cfg.Roots}, changed: feed.NewWakeup()}
	var err error // Run checks the address when it starts
	a.settings, err = store.OpenSettings(ctx, cfg.Store, store.PublicAddress, a.apply)
	return a, err
}

// Reload reads the stored address again. A new one is checked by Run. See reload.Reloader.
func (a *Address) Reload(ctx context.Context) error {
	if !a.mu.TryLock() { // by a check, which can take seconds
		a.changed.Wake()
		return nil
	}
	defer a.mu.Unlock()
	return a.read(ctx)
}

// read reads the stored address. It needs mu.
func (a *Address) read(ctx context.Context) error {
	before := a.settings.Read()
	err := a.settings.Reload(ctx)
	if a.settings.Read() != before {
		a.changed.Wake()
	}
	return err
}

// apply puts an address into effect, unchecked. It needs mu.
func (a *Address) apply(settings control.ReachSettings) {
	address := settings.PublicURL
	next := &current{Reach: control.Reach{PublicURL: strings.TrimSuffix(a.Local, "/"), State: control.ReachUnchecked, Machine: a.Machine}}
	switch {
	case a.Flag != "":
		next.isSet = true
		next.PublicURL, next.Flag = strings.TrimSuffix(a.Flag, "/"), "-public-url "+a.Flag
	case address != "":
		next.PublicURL, next.isSet = address, true
	}
	u, err := url.Parse(strings.ToLower(next.PublicURL))
	switch {
	case err != nil || isLoopback(u.Hostname()):
		next.State = control.ReachLocal
	case next.isSet:
		next.host = hostOf(u)
	}
	a.current.Store(next)
}

// Read returns the address and its state.
func (a *Address) Read() control.Reach { return a.current.Load().Reach }

// IsOK reports whether this hub answered at its public address at the last check.
func (a *Address) IsOK() bool { return a.Read().State == control.ReachOK }

// Links returns the base of links, and whether they work only on this machine, which it then names. An address that was
// set is used unchanged: an admin who sets a local one reads the messages on this machine, or forwards its port.
func (a *Address) Links() (base, machine string, isLocal bool) {
	c := a.current.Load()
	return c.PublicURL, c.Machine, c.State == control.ReachLocal && !c.isSet
}

// Origins returns the addresses at which the page of this hub can be open: the public one and that of
// this machine.
func (a *Address) Origins() []string {
	return []string{a.Read().PublicURL, strings.TrimSuffix(a.Local, "/")}
}

// IsLocal reports whether only this machine can open the hub's links.
func (a *Address) IsLocal() bool { return a.Read().State == control.ReachLocal }

// IsPublicHost reports whether a Host header, in lower case, names the public address.
func (a *Address) IsPublicHost(host string) bool {
	if host == "" {
		return false
	}
	candidate := a.candidate.Load()
	return host == a.current.Load().host || candidate != nil && host == *candidate
}

// IsForwardedHost reports whether a Host header names an address of the setting. Such a request came
// through a proxy, even if the proxy did not mark it.
func (a *Address) IsForwardedHost(host string) bool { return a.Flag == "" && a.IsPublicHost(host) }

// Set replaces the address on behalf of a person. An address at which this hub does not answer
// changes nothing.
func (a *Address) Set(ctx context.Context, settings control.ReachSettings, by string) error {
	u, err := parse(settings.PublicURL)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Flag != "" {
		return invalid("is set by the flag -public-url; restart the hub without it to change the address here")
	}
	isChecked := u != nil && !isLoopback(u.Hostname())
	address := ""
	if u != nil {
		address = u.Scheme + "://" + u.Host
	}
	if isChecked {
		a.candidate.Store(&u.Host) // the check reaches this hub under the new name
		defer a.candidate.Store(nil)
		if reason := a.checker.check(ctx, u); reason != "" {
			return invalid("was not saved. " + reason)
		}
	}
	if err := a.settings.Set(ctx, control.ReachSettings{PublicURL: address}, by); err != nil {
		return err
	}
	if isChecked {
		a.setState("")
	}
	return nil
}

// Run checks the address at start, every checkEvery, and when another hub has set it, until ctx ends. It always returns nil.
func (a *Address) Run(ctx context.Context) error {
	for {
		a.mu.Lock()
		err := a.read(ctx)
		a.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			a.Log.Error("the public address was not read", "retry_in", checkEvery, "err", err)
		}
		a.Check(ctx)
		if !a.changed.Wait(ctx, checkEvery) {
			return nil
		}
	}
}

// Check checks the address now, unless it is local.
func (a *Address) Check(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.Read()
	if r.State == control.ReachLocal {
		return
	}
	u, err := url.Parse(r.PublicURL)
	if err != nil {
		return
	}
	reason := a.checker.check(ctx, u)
	if ctx.Err() != nil {
		return
	}
	if reason != "" && reason != r.Reason {
		a.Log.Warn("the hub is not reachable at its public address", "address", r.PublicURL, "reason", reason, "retry_in", checkEvery)
	}
	a.setState(reason)
}

// setState sets the result of a check. It needs mu.
func (a *Address) setState(reason string) {
	next := *a.current.Load()
	next.State, next.Reason = control.ReachOK, ""
	if reason != "" {
		next.State, next.Reason = control.ReachFailed, reason
	}
	a.current.Store(&next)
}

func invalid(detail string) error { return &schema.FieldError{Field: "publicUrl", Detail: detail} }

// parse reads an address. It returns nil for an empty one.
func parse(address string) (*url.URL, error) {
	if address == "" {
		return nil, nil
	}
	u, err := url.Parse(address)
	if err != nil || len(address) > 300 || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.ForceQuery || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return nil, invalid("must be an address without a path, such as https://hub.example.com")
	}
	u.Host = hostOf(u)
	if u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname())) {
		return nil, invalid("must begin with https://, because a sign-in over http:// can be read on the way; only an address of this machine may use http://")
	}
	if _, err := netguard.ParseTarget(target(u)); err != nil {
		return nil, invalid("must contain a valid host name, such as https://hub.example.com")
	}
	return u, nil
}

// hostOf returns the host as browsers send it: in lower case and without the scheme's own port.
func hostOf(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if u.Port() == defaultPort(u) || u.Port() == "" {
		host = strings.TrimSuffix(host, ":"+u.Port())
	}
	return host
}

// isLoopback reports whether host is reachable from this machine only.
func isLoopback(host string) bool {
	return host == "" || socket.IsLoopback(host) || strings.HasSuffix(strings.ToLower(host), ".localhost")
}

// quietModules is the width of the empty margin that scanners need, in modules.
const quietModules = 4

// QRCode returns text as a QR code: an SVG image, black on white.
func QRCode(text string) (string, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", fmt.Errorf("encode QR code: %w", err)
	}
	var path strings.Builder
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+quietModules, y+quietModules)
			}
		}
	}
	size := code.Size + 2*quietModules
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h%dv%dH0z"/><path d="%s"/></svg>`, size, size, size, size, path.String()), nil
}
