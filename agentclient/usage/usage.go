// Package usage reads which tokens and which cost sessions of Claude Code had, by model, from the transcripts
// that it writes. It states what Claude Code states and estimates nothing.
//
// Two kinds of lines count. A line of type cost-state has the totals of the session by model; Claude Code
// writes one when it exits, and continues the totals if the session is resumed. The messages of the model have
// the tokens of their request. Each of these counts once, although several lines repeat it, and copied
// sessions repeat it in other files.
package usage

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

// maxTokens and maxCost limit a value, so that sums remain exact.
const (
	maxTokens = 1e12
	maxCost   = 1e6 // USD
)

// Books collects the usage of sessions from their files. Add all files before reading the usage.
type Books struct {
	sessions map[string]*session
	holders  map[string][]*session  // by request: the sessions whose files have it
	started  map[float64][]*session // by the start of their totals
}

// session has the statements of the files about one session.
type session struct {
	id       string
	requests map[string]history.ImportedUsage // a message spans several lines, and the last one has its usage
	totals   []total                          // in the order of their lines
	copied   map[string]string                // by request: the session that made it, if a line names another
	stated   float64                          // the cost without its models
	statedAt int64                            // Unix ms
	model    string                           // the latest of the main agent
	newest   string                           // the newest request of the main agent
	at       int64                            // time of the newest request, Unix ms
}

// total is a cost-state line.
type total struct {
	start   float64 // since when it counts, Unix ms
	at      int64   // of the newest request of the main agent that it counts, Unix ms
	newest  string  // that request
	until   int64   // when the main agent made the next one, Unix ms; 0: never
	byModel map[string]history.ImportedUsage
}

// NewBooks returns books without sessions.
func NewBooks() *Books {
	return &Books{sessions: map[string]*session{}, holders: map[string][]*session{}, started: map[float64][]*session{}}
}

// Read adds a file. Its lines count for the session that they name, or else for owner. isMain is set for the
// file of a session itself, not for those of its subagents. It returns the sessions of the lines that count.
func (b *Books) Read(file io.Reader, owner string, isMain bool) (sessions []string, err error) {
	seen := map[string]bool{}
	isFirst := true
	err = EachLine(file, func(text []byte) {
		if !isFirst && !mayCount(text) {
			return
		}
		isFirst = false
		var l Line
		if Decode(text, &l) {
			id := cmp.Or(l.SessionID, owner)
			seen[id] = true
			b.add(b.session(id), &l, isMain && !l.Sidechain)
		}
	})
	return slices.Sorted(maps.Keys(seen)), err
}

// mayCount reports whether a line can have usage.
func mayCount(text []byte) bool {
	return bytes.Contains(text, []byte(`"usage"`)) || bytes.Contains(text, []byte(`"costUSD"`)) || bytes.Contains(text, []byte(`"totalCostUSD"`))
}

func (b *Books) session(id string) *session {
	s := b.sessions[id]
	if s == nil {
		s = &session{id: id, requests: map[string]history.ImportedUsage{}, copied: map[string]string{}}
		b.sessions[id] = s
	}
	return s
}

// add adds a line of a session.
func (b *Books) add(s *session, l *Line, isMain bool) {
	if l.IsCopy() {
		return
	}
	at := l.Timestamp.UnixMilli()
	if l.Timestamp.IsZero() || at <= 0 {
		at = s.at
	}
	if len(l.ModelUsage) > 0 {
		s.addTotal(l)
		if !slices.Contains(b.started[l.StartTime], s) {
			b.started[l.StartTime] = append(b.started[l.StartTime], s)
		}
	} else if cost := bounded(l.TotalCostUSD, maxCost); cost > s.stated {
		s.stated, s.statedAt = cost, at
	}
	u := history.ImportedUsage{At: schema.Millis(at), Model: l.Message.Model, Requests: 1, Tokens: tokens(l.Message.Usage), CostUSD: bounded(l.CostUSD, maxCost)}
	if l.Type != "assistant" || u.Tokens == (history.Tokens{}) && u.CostUSD == 0 {
		return
	}
	key := l.requestKey()
	if key == "" {
		key = s.id + "#" + strconv.Itoa(len(s.requests))
	}
	_, isKnown := s.requests[key]
	if !isKnown {
		b.holders[key] = append(b.holders[key], s)
	}
	s.requests[key] = u
	if l.RequestSession != "" && l.RequestSession != s.id {
		s.copied[key] = l.RequestSession
	}
	s.at = max(s.at, at)
	if isMain {
		s.model, s.newest = cmp.Or(u.Model, s.model), key
	}
	for i := range s.totals {
		if t := &s.totals[i]; isMain && !isKnown && t.until == 0 {
			t.until = at
		}
	}
}

// requestKey returns what identifies the request of a message: some servers reuse the ids of messages.
func (l *Line) requestKey() string {
	if l.Message.ID == "" {
		return l.UUID
	}
	return l.Message.ID + "/" + cmp.Or(l.RequestID, l.RequestRef)
}

func (s *session) addTotal(l *Line) {
	t := total{start: l.StartTime, at: s.at, newest: s.newest, byModel: map[string]history.ImportedUsage{}}
	for _, name := range slices.Sorted(maps.Keys(l.ModelUsage)) {
		u := l.ModelUsage[name]
		model, _, _ := strings.Cut(name, "[") // the variant with a larger context
		sum := t.byModel[model]
		sum.Tokens = sum.Tokens.Add(tokens(messageUsage{u.Input, u.Output, u.CacheRead, u.CacheWrite}))
		sum.CostUSD += bounded(u.CostUSD, maxCost)
		t.byModel[model] = sum
	}
	isCopy := func(o total) bool { return o.start == t.start && maps.Equal(o.byModel, t.byModel) }
	if !slices.ContainsFunc(s.totals, isCopy) {
		s.totals = append(s.totals, t)
	}
}

func tokens(u messageUsage) history.Tokens {
	count := func(n float64) int64 { return int64(bounded(n, maxTokens)) }
	return history.Tokens{Input: count(u.Input), Output: count(u.Output), CacheRead: count(u.CacheRead), CacheWrite: count(u.CacheWrite)}
}

// bounded returns n, or 0 if it is not from 0 to limit.
func bounded(n, limit float64) float64 {
	if n >= 0 && n <= limit {
		return n
	}
	return 0
}

// Owns reports whether the request of a message counts for the session, and not for one that it was copied
// from.
func (b *Books) Owns(id string, l *Line) bool {
	s := b.session(id)
	return b.owner(l.requestKey(), s) == s
}

// owner returns the session that a request of s counts for: the one that made it, or else the one with the
// fewest requests, because a copy has those of its original and its own.
func (b *Books) owner(key string, s *session) *session {
	holders := b.holders[key]
	if len(holders) < 2 {
		return s
	}
	return slices.MinFunc(holders, func(x, y *session) int {
		return cmp.Or(cmp.Compare(min(len(x.copied[key]), 1), min(len(y.copied[key]), 1)),
			cmp.Compare(len(x.requests), len(y.requests)), cmp.Compare(x.id, y.id))
	})
}
