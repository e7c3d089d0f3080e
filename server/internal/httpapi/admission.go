package httpapi

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"sync"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/routes"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/peer"
)

// A request holds a place of its class until its response is sent, a stream until it ends. The
// classes are separate, and each owner may hold only a part of one, so a program that opens
// thousands of connections locks out neither the people nor the other agents. Connections without
// a complete request hold no place; see idleConns.

// placeClass is a class of requests.
type placeClass int

const (
	signedInPlace placeClass = iota // requests and streams of people
	waitingPlace                    // requests that wait for an answer
	streamPlace                     // streams without a person
	ordinaryPlace                   // everything else
	placeClasses
)

var placeClassNames = [placeClasses]string{"signed_in", "waiting", "streams", "ordinary"}

// PlaceLimit bounds the places of one class.
type PlaceLimit struct{ Total, PerOwner int }

// PlaceLimits bound the requests in progress, by class. Zero values select the defaults.
type PlaceLimits struct {
	SignedIn        PlaceLimit // default 256, 64
	SignedInStreams int        // the streams among them, default 192
	Waiting         PlaceLimit // default 1,024, 64
	Streams         PlaceLimit // default 256, 32
	Ordinary        PlaceLimit // default 2,048, 512
	Idle            int        // connections without a complete request, default 1,024
}

func (l *PlaceLimits) setDefaults() {
	for _, d := range []struct {
		limit *PlaceLimit
		value PlaceLimit
	}{
		{&l.SignedIn, PlaceLimit{256, 64}}, {&l.Waiting, PlaceLimit{1024, 64}},
		{&l.Streams, PlaceLimit{256, 32}}, {&l.Ordinary, PlaceLimit{2048, 512}},
	} {
		if *d.limit == (PlaceLimit{}) {
			*d.limit = d.value
		}
	}
	if l.SignedInStreams == 0 {
		l.SignedInStreams = l.SignedIn.Total * 3 / 4
	}
	if l.Idle == 0 {
		l.Idle = 1024
	}
}

// total is the number of connections that can be open at the same time.
func (l *PlaceLimits) total() int {
	return l.SignedIn.Total + l.Waiting.Total + l.Streams.Total + l.Ordinary.Total + l.Idle
}

// maxFinding bounds the requests of a class whose owner is being found: each holds the memory of a
// request but no place.
const maxFinding = 256

// places counts the places in use. Its methods are safe for concurrent use.
type places struct {
	limits [placeClasses]PlaceLimit
	// maxPersonStreams is the limit of streams among the places of people.
	maxPersonStreams int
	refused          func(placeClass) // called for each refusal

	mu            sync.Mutex
	used          [placeClasses]int
	finding       [placeClasses]int // requests whose owner is being found
	owners        [placeClasses]map[string]int
	personStreams int
}

func (p *places) init(l *PlaceLimits, refused func(placeClass)) {
	p.limits = [placeClasses]PlaceLimit{l.SignedIn, l.Waiting, l.Streams, l.Ordinary}
	p.maxPersonStreams, p.refused = l.SignedInStreams, refused
	for i := range p.owners {
		p.owners[i] = map[string]int{}
	}
}

// place is one place in use. The zero owner is not counted.
type place struct {
	class    placeClass
	owner    string
	isStream bool
}

// take takes a place, or reports false if the class or the owner's part of it is full. owner is
// called only when the class is at least half full, because finding a program is slow.
func (p *places) take(want place, owner func() string) (place, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	total := p.limits[want.class].Total
	if want.owner == "" && p.used[want.class] >= total/2 && p.used[want.class] < total {
		if p.finding[want.class] >= min(total, maxFinding) {
			p.refused(want.class)
			return place{}, false
		}
		p.finding[want.class]++
		p.mu.Unlock()
		want.owner = owner()
		p.mu.Lock()
		p.finding[want.class]--
	}
	limit, owners := p.limits[want.class], p.owners[want.class]
	isPersonStream := want.isStream && want.class == signedInPlace
	if p.used[want.class] >= limit.Total || isPersonStream && p.personStreams >= p.maxPersonStreams ||
		want.owner != "" && owners[want.owner] >= limit.PerOwner {
		p.refused(want.class)
		return place{}, false
	}
	p.used[want.class]++
	if isPersonStream {
		p.personStreams++
	}
	if want.owner != "" {
		owners[want.owner]++
	}
	return want, true
}

func (p *places) release(taken place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used[taken.class]--
	if taken.isStream && taken.class == signedInPlace {
		p.personStreams--
	}
	if owners := p.owners[taken.class]; taken.owner != "" {
		if owners[taken.owner]--; owners[taken.owner] == 0 {
			delete(owners, taken.owner)
		}
	}
}

func (p *places) inUse(class placeClass) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used[class]
}

// admit returns the middleware that takes a place for a request of route r.
func (s *Server) admit(r routes.Route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		identity, _ := c.Locals(identityLocal).(auth.Identity)
		want := place{class: ordinaryPlace, isStream: r.Path == schema.PathStream && isUpgrade(c)}
		isPerson := identity.IsAuthenticated() && !identity.Agent
		if identity.IsAuthenticated() {
			want.owner = "token " + identity.Requester()
		}
		switch {
		case waitsForAnswer(c, r):
			want.class = waitingPlace
		case isPerson:
			want.class, want.owner = signedInPlace, identity.Name
		case want.isStream:
			want.class = streamPlace
		}
		if !s.enter(c, want) {
			c.Context().SetConnectionClose() // an idle connection holds memory, too
			return errNoPlace(want.class)
		}
		return c.Next()
	}
}

// waitsForAnswer reports whether a request of route r waits until a person has answered.
func waitsForAnswer(c *fiber.Ctx, r routes.Route) bool {
	switch r.Path {
	case schema.PathResponse:
		wait := c.Query("wait")
		return wait != "" && wait != "0"
	case schema.PathMCP:
		return true
	default:
		return false // a hook of PathClaudeCode takes its waiting place when it waits
	}
}

// enter takes a place for the request and releases it when the response is sent; the place of a
// stream when its connection closes.
func (s *Server) enter(c *fiber.Ctx, want place) bool {
	if _, ok := c.Locals(placeLocal).(*heldPlace); ok {
		return true // the path is a route and a screen of the dashboard
	}
	taken, ok := s.places.take(want, func() string { return s.programOf(c) })
	if !ok {
		return false
	}
	held := &heldPlace{places: &s.places, place: taken}
	c.Locals(placeLocal, held)
	release := held.release
	cn, ok := c.Context().Conn().(*conn)
	switch {
	case !ok:
		release()
	case want.isStream:
		cn.onClosed(release)
	default:
		cn.onResponseSent(release)
	}
	return true
}

// placeLocal is the key under which enter stores the place of a request.
const placeLocal = "place"

// heldPlace is the place of one request.
type heldPlace struct {
	places *places
	mu     sync.Mutex
	place  place
	gone   bool // released
}

func (h *heldPlace) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.gone {
		h.gone = true
		h.places.release(h.place)
	}
}

// startWaiting moves the request to a waiting place. It reports false, and changes nothing, if there
// is none.
func (s *Server) startWaiting(c *fiber.Ctx) bool {
	held, ok := c.Locals(placeLocal).(*heldPlace)
	if !ok {
		return false
	}
	taken, ok := s.places.take(place{class: waitingPlace}, func() string { return s.programOf(c) })
	if !ok {
		return false
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	s.places.release(held.place)
	held.place = taken
	return true
}

// programOf names the program that sent the request, or its address if the program is not known.
func (s *Server) programOf(c *fiber.Ctx) string {
	by := caller(c)
	program := by.Process
	if program.PID == 0 && s.Hub.ProcessOf != nil {
		program, _ = peer.ProgramOf(by.Remote, by.Local)
	}
	if program.PID != 0 {
		return fmt.Sprintf("process %d %d", program.PID, program.Start)
	}
	from := by.Remote.Addr().Unmap()
	if from.Is6() {
		if network, err := from.WithZone("").Prefix(64); err == nil {
			return "network " + network.String()
		}
	}
	return "address " + addressText(from)
}

func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return "unknown"
	}
	return a.String()
}

// errNoPlace is the error of a request without a place.
func errNoPlace(class placeClass) error {
	hint := "Too many requests are in progress. Nothing was stored. Send the request again in a moment."
	switch class {
	case waitingPlace:
		hint = "Too many requests wait for an answer. The question stays open. Ask for its answer again in a moment."
	case signedInPlace, streamPlace:
		hint = "Too many pages are open. Close some, or try again in a moment."
	}
	return &schema.HintError{Err: schema.ErrBusy, Hint: hint}
}

// maxRetryAfter is the longest Retry-After of a refused request, in seconds. It is chosen at random,
// so that refused programs do not come back at the same time.
const maxRetryAfter = 5

func retryAfter() string { return strconv.Itoa(1 + rand.IntN(maxRetryAfter)) }
