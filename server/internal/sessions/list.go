package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// Sessions returns a page of sessions, most recently active first. It comes from
// projections, which it brings up to date first; only the pending questions are current in
// any case.
func (s *Service) Sessions(ctx context.Context, f store.SessionFilter) (history.SessionPage, error) {
	page := history.SessionPage{Sessions: []history.Session{}}
	if f.Text != "" {
		if err := s.searches.acquire(ctx); err != nil {
			return page, err
		}
		defer s.searches.release()
	}
	page.LagMS = s.catchUp(ctx)
	facts, next, err := s.Store.Sessions(ctx, f)
	if err != nil {
		return page, err
	}
	pending, err := s.Store.PendingCounts(ctx)
	if err != nil {
		return page, err
	}
	for _, raw := range facts {
		session, err := decodeSession(raw, pending)
		if err != nil {
			return page, err
		}
		page.Sessions = append(page.Sessions, session)
	}
	if next > 0 {
		page.Next = strconv.FormatInt(next, 10)
	}
	return page, nil
}

// decodeSession decodes a stored session and adds its human wait and its pending
// questions.
func decodeSession(facts []byte, pending map[store.SessionKey]int64) (history.Session, error) {
	var s digest.HumanWait
	if err := json.Unmarshal(facts, &s); err != nil {
		return history.Session{}, fmt.Errorf("read stored session: %w", err)
	}
	s.Sum.HumanWaitMS = s.HumanWaitMS()
	s.Sum.SetPending(pending[store.SessionKey{App: s.Sum.SourceApp, Session: s.Sum.SessionID}])
	return s.Sum, nil
}

// Summary returns the summary of one session without its pending questions, or nil if there is none. It does not
// bring the projections up to date.
func (s *Service) Summary(ctx context.Context, key store.SessionKey) (*history.Session, error) {
	facts, err := s.Store.SessionFacts(ctx, key.App, key.Session)
	if err != nil || facts == nil {
		return nil, err
	}
	session, err := decodeSession(facts, nil)
	return &session, err
}

// Session returns one session with its tools, models and agents, or schema.ErrNotFound.
func (s *Service) Session(ctx context.Context, key store.SessionKey) (history.SessionDetail, error) {
	detail := history.SessionDetail{LagMS: s.catchUp(ctx)}
	facts, err := s.Store.SessionFacts(ctx, key.App, key.Session)
	if err != nil {
		return detail, err
	}
	if facts == nil {
		return detail, schema.ErrNotFound
	}
	pending, err := s.Store.PendingCounts(ctx)
	if err != nil {
		return detail, err
	}
	if detail.Session, err = decodeSession(facts, pending); err != nil {
		return detail, err
	}
	var sum digest.Session
	if err := json.Unmarshal(facts, &sum); err != nil {
		return detail, fmt.Errorf("read stored session: %w", err)
	}
	detail.Models, detail.Agents = sum.Models(), sum.Agents()
	times, err := s.Store.SessionTools(ctx, detail.Session.FirstID)
	detail.Tools = toolStats(times)
	return detail, err
}

// toolStats sums the tool times per tool, most used first.
func toolStats(times map[store.ToolKey]store.ToolTime) []history.ToolStat {
	byTool, histograms := map[string]history.ToolStat{}, map[string]digest.Histogram{}
	for key, t := range times {
		stat := byTool[key.Tool]
		stat.Tool = key.Tool
		stat.Calls, stat.Failures, stat.TotalMS = stat.Calls+t.Calls, stat.Failures+t.Failures, stat.TotalMS+t.TotalMS
		byTool[key.Tool] = stat
		if key.Bucket < 0 {
			continue
		}
		if histograms[key.Tool] == nil {
			histograms[key.Tool] = digest.Histogram{}
		}
		histograms[key.Tool][key.Bucket] += t.Calls
	}
	stats := make([]history.ToolStat, 0, len(byTool))
	for tool, stat := range byTool {
		stat.MedianMS, stat.P95MS = histograms[tool].Percentile(0.5), histograms[tool].Percentile(0.95)
		stats = append(stats, stat)
	}
	slices.SortFunc(stats, func(a, b history.ToolStat) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Tool, b.Tool))
	})
	return stats
}
