// Package studio reads what policies do: the files that hooks reported as in force, and the effect of
// a policy on the history. It changes nothing.
package studio

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/ratings"
	"github.com/hookback/hookback/server/internal/store"
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

// Limits of an evaluation. They bound the cost of a hostile policy or call.
const (
	evaluationTime = time.Second
	maxSteps       = 1 << 28 // of one call
)

// evaluator evaluates policies for past calls in limited time.
type evaluator struct {
	policy policy.Policy
	weight int
}

func newEvaluator(files []*file) evaluator {
	var e evaluator
	var policies []*policy.File
	for _, f := range files {
		policies = append(policies, f.policy)
		e.weight += f.weight
	}
	e.policy = policy.Join(policies...)
	return e
}

// evaluate returns the policy's decision about a call, or false if its arguments are not known or that
// could take too long.
func (e *evaluator) evaluate(c *ratings.PastCall) (policy.Result, bool) {
	if c.IsCut || e.weight*len(c.Call.Arguments) > maxSteps {
		return policy.Result{}, false
	}
	return e.policy.Evaluate(c.Call), true
}

// pastCalls returns all tool calls of the last days.
func (s *Service) pastCalls(ctx context.Context) ([]ratings.PastCall, bool, error) {
	all, err := filter.Parse("")
	if err != nil {
		return nil, false, err
	}
	return s.Calls.PastCalls(ctx, all, s.Clock())
}

// countHits counts the calls that each rule decides, newest first. complete is false if some were left out.
func (s *Service) countHits(ctx context.Context, r *reports, listed []*reportedFile) (complete bool, err error) {
	calls, complete, err := s.pastCalls(ctx)
	if err != nil {
		return false, err
	}
	byName := map[string]*reportedFile{}
	for _, p := range listed {
		byName[p.name] = p
	}
	evaluators := map[string]*evaluator{}
	deadline := time.Now().Add(evaluationTime)
	for i := len(calls) - 1; i >= 0; i-- {
		if time.Now().After(deadline) {
			return false, nil
		}
		files, names := r.filesFor(&calls[i], listed)
		if len(files) == 0 {
			continue
		}
		e := evaluators[names]
		if e == nil {
			made := newEvaluator(files)
			e = &made
			evaluators[names] = e
		}
		result, known := e.evaluate(&calls[i])
		complete = complete && known
		name, index := ruleIndex(result.Location)
		if p := byName[name]; p != nil && index >= 0 && index < len(p.Rules) {
			p.Rules[index].Hits++
			if isOpposed(result.Effect, calls[i].Answer) {
				p.Rules[index].Opposed++
			}
		}
	}
	return complete, nil
}

// filesFor returns the files that apply to a call, in the order of evaluation, and their names. If its
// session has no report, these are the user's file, if there is only one, and the files of the
// folders that the agent was in.
func (r *reports) filesFor(c *ratings.PastCall, listed []*reportedFile) (files []*file, names string) {
	add := func(p *reportedFile) {
		if p != nil && p.parsed != nil {
			files = append(files, p.parsed)
			names += p.name + ","
		}
	}
	if keys, known := r.sessions[store.SessionKey{App: c.SourceApp, Session: c.SessionID}]; known {
		for _, key := range keys {
			add(r.files[key])
		}
		return files, names
	}
	for _, p := range listed {
		if p == r.onlyUser || p.Origin == history.OriginProject && isBelow(c.Cwd, p.dir) {
			add(p)
		}
	}
	return files, names
}

// isBelow reports whether a directory is a folder or below it.
func isBelow(dir, folder string) bool {
	rest, ok := strings.CutPrefix(dir, folder)
	return ok && folder != "" && (rest == "" || rest[0] == '/' || rest[0] == '\\')
}

// isOpposed reports whether an effect contradicts the answer of a person.
func isOpposed(effect policy.Effect, answer schema.Outcome) bool {
	return effect == policy.Allow && answer == schema.Deny || effect == policy.Deny && answer == schema.Approve
}
