// Package now reports the agents that run now, as lanes: one per session that was active in the last half hour or
// has an open request. It reads sessions from their projections, and the last minutes from the end of the log.
package now

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/live"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/sessions"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// activeFor is how long after its last event a session has a lane.
	activeFor = 30 * time.Minute
	// maxSessions limits the sessions that one report reads.
	maxSessions = 2000
)

// Config holds the dependencies of a Service. Live, Freezes and Sessions are required.
type Config struct {
	Live     *live.Tracker
	Freezes  store.Freezes
	Sessions *sessions.Service
	People   *auth.Service    // nil: every caller may answer
	Clock    func() time.Time // default: time.Now
}

// Service makes reports. Its methods are safe for concurrent use.
type Service struct{ Config }

// New returns a service.
func New(cfg Config) *Service {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Service{cfg}
}

// Report returns the lanes and the figures of today in the time zone, as seen by the caller.
func (s *Service) Report(ctx context.Context, me auth.Identity, zone *time.Location) (history.NowReport, error) {
	now := s.Clock()
	first := now.UnixMilli()/live.BucketMS - live.Buckets + 1
	r := history.NowReport{At: schema.Millis(now.UnixMilli()), StripFrom: schema.Millis(first * live.BucketMS), BucketMS: live.BucketMS}
	active, lag, err := s.activeSessions(ctx, now.Add(-activeFor))
	if err != nil {
		return r, err
	}
	r.LagMS = lag
	spend, err := s.Sessions.SpendReport(ctx, sessions.SpendGroups{}, query.StatsRange{Days: 1, Zone: zone})
	if err != nil {
		return r, err
	}
	r.CostUSD = spend.CostUSD
	err = s.Live.Do(ctx, func() error {
		r.UpTo, r.KnownFrom = schema.EventID(s.Live.At), max(schema.Millis(s.Live.KnownFrom), r.StripFrom)
		v := &view{
			freezes: s.Freezes, now: now.UnixMilli(), first: first, me: me.Name, mayDecide: s.mayDecide(me),
			tracker: s.Live, requests: s.Live.Requests(),
		}
		active, err := s.withAsking(ctx, active, v.requests)
		if err == nil {
			v.fill(&r, active)
		}
		return err
	})
	return r, err
}

func (s *Service) mayDecide(me auth.Identity) bool {
	return s.People == nil || s.People.Check(schema.AccessDecide, me) == nil
}

// activeSessions returns the sessions with an event since then, latest active first, and how old they are in ms.
func (s *Service) activeSessions(ctx context.Context, since time.Time) (active []history.Session, lagMS int64, err error) {
	f := store.SessionFilter{Limit: history.MaxSessions}
	for len(active) < maxSessions {
		page, err := s.Sessions.Sessions(ctx, f)
		if err != nil {
			return nil, 0, err
		}
		lagMS = max(lagMS, page.LagMS)
		for i := range page.Sessions {
			if session := &page.Sessions[i]; session.Imported == "" && session.LastAt >= schema.Millis(since.UnixMilli()) {
				active = append(active, page.Sessions[i])
			}
		}
		n := len(page.Sessions)
		if page.Next == "" || n == 0 || page.Sessions[n-1].LastAt < schema.Millis(since.UnixMilli()) {
			break
		}
		if f.Before, err = strconv.ParseInt(page.Next, 10, 64); err != nil {
			return nil, 0, err
		}
	}
	return active, lagMS, nil
}

// withAsking adds the sessions with open requests that are not in the list. One that the projections do not have yet
// has only its names.
func (s *Service) withAsking(ctx context.Context, active []history.Session, requests live.Requests) ([]history.Session, error) {
	known := make(map[store.SessionKey]bool, len(active))
	for i := range active {
		known[keyOf(&active[i])] = true
	}
	var missing []store.SessionKey
	for key := range requests {
		if !known[key] {
			missing = append(missing, key)
		}
	}
	// The sessions that have waited the longest are within the limit.
	slices.SortFunc(missing, func(a, b store.SessionKey) int { return cmp.Compare(requests[a][0].ID, requests[b][0].ID) })
	for i, key := range missing {
		session := history.Session{SourceApp: key.App, SessionID: key.Session}
		if i < history.MaxLanes {
			stored, err := s.Sessions.Summary(ctx, key)
			if err != nil {
				return nil, err
			}
			if stored != nil {
				session = *stored
			}
		}
		at := requests[key][0].AskedAt
		session.StartedAt, session.LastAt = cmp.Or(session.StartedAt, schema.Millis(at)), max(session.LastAt, schema.Millis(at))
		active = append(active, session)
	}
	return active, nil
}
