// Package studio reads what policies do: the files that hooks reported as in force, and the effect of
// a policy on the history. It changes nothing.
package studio

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/ratings"
)

// Config holds the dependencies of a Service. Calls is required.
type Config struct {
	Calls *ratings.Follower
	Clock func() time.Time // default: time.Now
}

// Service reads policies. Its methods are safe for concurrent use.
type Service struct {
	Config
	slots   chan struct{} // holds an element per read: each uses a whole processor
	waiting atomic.Int64
}

// Limits of concurrent reads.
const (
	maxReads   = 2
	maxWaiting = 16
)

// New returns a service.
func New(cfg Config) *Service {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Service{Config: cfg, slots: make(chan struct{}, maxReads)}
}

// Acquire waits for a place to read, which the caller must release.
func (s *Service) Acquire(ctx context.Context) (release func(), err error) {
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) > maxWaiting {
		return nil, &schema.HintError{Err: schema.ErrBusy, Hint: "Too many policies are being replayed. Try again in a moment."}
	}
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Policies returns the policy files in force, with the effect of their rules on the last 30 days.
func (s *Service) Policies(ctx context.Context) (*history.PolicyList, error) {
	release, err := s.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	r, complete, err := s.readReports(ctx, s.Clock())
	if err != nil {
		return nil, err
	}
	list := &history.PolicyList{Policies: []history.ReportedPolicy{}, Complete: complete && len(r.files) <= maxPolicies}
	listed := r.listed()
	for i, p := range listed {
		p.parse(strconv.Itoa(i))
		p.Sessions = int64(len(p.seen))
	}
	if len(listed) > 0 {
		counted, err := s.countHits(ctx, r, listed)
		if err != nil {
			return nil, err
		}
		list.Complete = list.Complete && counted
	}
	for _, p := range listed {
		list.Policies = append(list.Policies, p.ReportedPolicy)
	}
	return list, nil
}
