package middleware

import (
	"cmp"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// A request holds a place of its class until its response is sent, a stream until it ends. The
// classes are separate, and each owner may hold only a part of one, so a program that opens
// thousands of connections locks out neither the people nor the other agents. Connections without
// a complete request hold no place; see idleConns.

// PlaceClass is a class of requests.
type PlaceClass int

const (
	SignedInPlace PlaceClass = iota // requests and streams of people
	WaitingPlace                    // requests that wait for an answer
	StreamPlace                     // streams without a person
	OrdinaryPlace                   // everything else
	placeClasses
)

// PlaceClassNames are the names of the classes in metrics.
var PlaceClassNames = [placeClasses]string{"signed_in", "waiting", "streams", "ordinary"}

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

// SetDefaults replaces zero values.
func (l *PlaceLimits) SetDefaults() {
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
	l.SignedInStreams = cmp.Or(l.SignedInStreams, l.SignedIn.Total*3/4)
	if l.Idle == 0 {
		l.Idle = 1024
	}
}

// Total is the number of connections that can be open at the same time.
func (l *PlaceLimits) Total() int {
	return l.SignedIn.Total + l.Waiting.Total + l.Streams.Total + l.Ordinary.Total + l.Idle
}

// maxFinding bounds the requests of a class whose owner is being found: each holds the memory of a
// request but no place.
const maxFinding = 256

// Places counts the places in use. Its methods are safe for concurrent use.
type Places struct {
	limits [placeClasses]PlaceLimit
	// maxPersonStreams is the limit of streams among the places of people.
	maxPersonStreams int
	refusals         *prometheus.CounterVec

	mu            sync.Mutex
	used          [placeClasses]int
	finding       [placeClasses]int // requests whose owner is being found
	owners        [placeClasses]map[string]int
	personStreams int
}

// NewPlaces returns places within the limits. refusals counts the refused requests by class.
func NewPlaces(l *PlaceLimits, refusals *prometheus.CounterVec) *Places {
	p := &Places{refusals: refusals}
	p.limits = [placeClasses]PlaceLimit{l.SignedIn, l.Waiting, l.Streams, l.Ordinary}
	p.maxPersonStreams = l.SignedInStreams
	for i := range p.owners {
		p.owners[i] = map[string]int{}
	}
	return p
}

// Place is one place in use. The zero owner is not counted.
type Place struct {
	Class    PlaceClass
	Owner    string
	IsStream bool
}

// take takes a place, or reports false if the class or the owner's part of it is full. owner is
// called only when the class is at least half full, because finding a program is slow.
func (p *Places) take(want Place, owner func() string) (Place, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	total := p.limits[want.Class].Total
	if want.Owner == "" && p.used[want.Class] >= total/2 && p.used[want.Class] < total {
		if p.finding[want.Class] >= min(total, maxFinding) {
			p.refusals.WithLabelValues(PlaceClassNames[want.Class]).Inc()
			return Place{}, false
		}
		p.finding[want.Class]++
		p.mu.Unlock()
		want.Owner = owner()
		p.mu.Lock()
		p.finding[want.Class]--
	}
	limit, owners := p.limits[want.Class], p.owners[want.Class]
	isPersonStream := want.IsStream && want.Class == SignedInPlace
	if p.used[want.Class] >= limit.Total || isPersonStream && p.personStreams >= p.maxPersonStreams ||
		want.Owner != "" && owners[want.Owner] >= limit.PerOwner {
		p.refusals.WithLabelValues(PlaceClassNames[want.Class]).Inc()
		return Place{}, false
	}
	p.used[want.Class]++
	if isPersonStream {
		p.personStreams++
	}
	if want.Owner != "" {
		owners[want.Owner]++
	}
	return want, true
}

func (p *Places) release(taken Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used[taken.Class]--
	if taken.IsStream && taken.Class == SignedInPlace {
		p.personStreams--
	}
	if owners := p.owners[taken.Class]; taken.Owner != "" {
		if owners[taken.Owner]--; owners[taken.Owner] == 0 {
			delete(owners, taken.Owner)
		}
	}
}

// InUse returns the number of places of a class that are taken.
func (p *Places) InUse(class PlaceClass) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used[class]
}

// Enter takes a place for the request and releases it when the response is sent; the place of a
// stream when its connection closes.
func (p *Places) Enter(c *fiber.Ctx, want Place, owner func() string) bool {
	if _, ok := c.Locals(placeLocal).(*heldPlace); ok {
		return true // the path is a route and a screen of the dashboard
	}
	taken, ok := p.take(want, owner)
	if !ok {
		return false
	}
	held := &heldPlace{places: p, place: taken}
	c.Locals(placeLocal, held)
	release := held.release
	cn, ok := c.Context().Conn().(*Conn)
	switch {
	case !ok:
		release()
	case want.IsStream:
		cn.OnClosed(release)
	default:
		cn.OnResponseSent(release)
	}
	return true
}

// placeLocal is the key under which Enter stores the place of a request.
const placeLocal = "place"

// heldPlace is the place of one request.
type heldPlace struct {
	places *Places
	mu     sync.Mutex
	place  Place
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

// StartWaiting moves the request to a waiting place. It reports false, and changes nothing, if there
// is none.
func (p *Places) StartWaiting(c *fiber.Ctx, owner func() string) bool {
	held, ok := c.Locals(placeLocal).(*heldPlace)
	if !ok {
		return false
	}
	taken, ok := p.take(Place{Class: WaitingPlace}, owner)
	if !ok {
		return false
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	p.release(held.place)
	held.place = taken
	return true
}

// maxRetryAfter is the longest Retry-After of a refused request, in seconds. It is chosen at random,
// so that refused programs do not come back at the same time.
const maxRetryAfter = 5

// RetryAfter returns the value of the header in a response of status 503.
func RetryAfter() string { return strconv.Itoa(1 + rand.IntN(maxRetryAfter)) }
