package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
)

// MustParse parses a filter.
func MustParse(t testing.TB, text string) *filter.Filter {
	t.Helper()
	f, err := filter.Parse(text)
	require.NoError(t, err, text)
	return f
}

// SearchAll repeats the search until it is complete. It returns the matches by ascending ID
// and the number of calls.
func (b *Harness) SearchAll(t testing.TB, q store.Search) (all []*store.Event, calls int) {
	t.Helper()
	ascending := q.Oldest || q.After > 0
	for {
		found, err := b.Search(context.Background(), q)
		require.NoError(t, err)
		calls++
		if ascending {
			all = append(all, found.Events...)
		} else {
			all = append(found.Events, all...)
		}
		if found.Complete {
			return all, calls
		}
		if ascending {
			require.Greater(t, found.SearchedTo, q.After, "the search makes progress")
			q.After = found.SearchedTo
		} else {
			require.True(t, q.Before == 0 || found.SearchedTo < q.Before, "the search makes progress: %d, %d", found.SearchedTo, q.Before)
			q.Before = found.SearchedTo
		}
	}
}

// generator makes drafts that differ in every filterable property.
type generator struct{ *rand.Rand }

func (r generator) pick(of ...string) string { return of[min(r.IntN(len(of)), r.IntN(len(of)))] }

var words = strings.Fields("alpha beta Gamma delta EPSILON zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau Ünder 日本語 straße ΟΔΟΣ go test ./... rm -rf /tmp 404 3.50 null")

func (r generator) draft(i int) *store.EventDraft {
	names := [3]string{r.pick("api", "Api", "web", "приём"), fmt.Sprint("session-", i/100+r.IntN(5)), r.pick("PreToolUse", "PostToolUse", "Stop", "pretooluse")}
	d := NewDraft(names[0], names[1], names[2], "")
	if r.IntN(10) == 0 {
		d = NewQuestionDraft("", time.Time{})
		d.App, d.Session, d.Type, d.Tool = names[0], names[1], names[2], ""
		d.Question = fmt.Appendf(nil, `{"question":%q,"type":"permission","risk":%q,"toolCall":{"name":"Write"}}`, r.pick(words...), r.pick("low", "high"))
	}
	if r.IntN(2) == 0 {
		d.Tool = r.pick("Bash", "bash", "Read", "Grep")
		d.Envelope = fmt.Appendf(d.Envelope, `,"tool_name":%q`, d.Tool)
	}
	if r.IntN(8) == 0 {
		d.Envelope = fmt.Appendf(d.Envelope, `,"error":%q,"model_name":"opus"`, r.pick(words...))
	}
	d.Payload = fmt.Appendf(nil, `{"tool_name":%q,"n":%d,"tool_input":{"command":"%s %s","list":[%q]},"text":"%s"}`,
		r.pick("Bash", "Edit"), r.IntN(60), r.pick(words...), r.pick(words...), r.pick(words...), strings.Join([]string{r.pick(words...), r.pick(words...)}, `\n`))
	d.ReceivedAt = ClockStart.Add(time.Duration(i) * time.Second)
	return d
}

func (r generator) filter() string {
	var terms []string
	for range 1 + r.IntN(3) {
		word := r.pick(words...)
		term := r.pick(word, `"`+word+`"`, "agent:api", "tool:bash", "type:pre*", "n:"+fmt.Sprint(r.IntN(60)), "command:*"+word, "list:"+word,
			"session:session-"+fmt.Sprint(r.IntN(30)), "status:pending", "status:re*", "risk:high", "kind:permission", "error:*"+word+"*", "model:opus",
			"/"+strings.NewReplacer("/", `\/`, "*", "").Replace(word)+"/", "app:/^a/", "text:"+word, "id:"+fmt.Sprint(1+r.IntN(2400)), "mu", "tool:*", "agent:web", "nowhere")
		if r.IntN(4) == 0 {
			term = "-" + term
		}
		terms = append(terms, term)
	}
	return strings.Join(terms, " ")
}

// TestSearch_MatchesNaiveLoop compares random searches, in both directions, paged and
// interrupted at any point, with the filter applied to every event.
func (s suite) TestSearch_MatchesNaiveLoop(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	r := generator{rand.New(rand.NewPCG(3, 4))}
	b.AppendMany(t, 2400, r.draft)
	s.buildIndex(t, b)
	for i, e := range b.pendingEvents(t) {
		if i%3 == 0 {
			b.Answer(t, e.ID)
		}
	}
	all := b.allEvents(t)
	require.Len(t, all, 2400)
	matched := 0
	for range 40 {
		q := store.Search{Limit: 1 + r.IntN(400)}
		maybe := func(set func()) {
			if r.IntN(4) == 0 {
				set()
			}
		}
		maybe(func() { q.From = ClockStart.Add(time.Duration(r.IntN(2400)) * time.Second) })
		maybe(func() { q.To = ClockStart.Add(time.Duration(r.IntN(2400))*time.Second + time.Millisecond) })
		maybe(func() { q.Before = schema.EventID(1 + r.IntN(2600)) })
		maybe(func() { q.After = schema.EventID(1 + r.IntN(2600)) })
		maybe(func() { q.Oldest = true })
		maybe(func() { q.MaxBytes = 1 + r.IntN(4000) })
		if r.IntN(20) == 0 {
			q.Timeout = 1
		}
		text := r.filter()
		q.Filter = MustParse(t, text)
		got, _ := b.SearchAll(t, q)
		want := b.naiveSearch(all, q)
		require.Equal(t, EventIDs(want), EventIDs(got), "%s %+v", text, q)
		matched += len(got)
	}
	require.Greater(t, matched, 1000)
}

func (b *Harness) pendingEvents(t testing.TB) []*store.Event {
	t.Helper()
	events, err := b.Pending(context.Background())
	require.NoError(t, err)
	return events
}

// naiveSearch is Search as a loop.
func (b *Harness) naiveSearch(all []*store.Event, q store.Search) []*store.Event {
	found := []*store.Event{}
	for _, e := range all {
		switch {
		case !q.From.IsZero() && e.ReceivedAt.Before(q.From), !q.To.IsZero() && !e.ReceivedAt.Before(q.To):
		case q.Before > 0 && e.ID >= q.Before, e.ID <= q.After:
		case q.Filter.Match(e.FilterEvent()):
			found = append(found, e)
		}
	}
	return found
}

func (s suite) TestSearch_CompletesOnEmptyLog(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	all, calls := b.SearchAll(t, store.Search{Filter: MustParse(t, "")})
	require.Empty(t, all)
	require.Equal(t, 1, calls)
	found, err := b.Search(t.Context(), store.Search{Filter: MustParse(t, ""), After: 7})
	require.NoError(t, err)
	require.Equal(t, store.SearchPage{SearchedTo: 7, Complete: true}, found)
}

// Search ignores payloads that lists omit, because the dashboard can't match them either.
// A name that no event has excludes nothing.
func (s suite) TestSearch_ExcludesUnknownName(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	b.MustAppend(t, NewDraft("app", "s", "Stop", ""))
	b.MustAppend(t, NewQuestionDraft("", time.Time{}))
	for text, n := range map[string]int{"-app:other": 2, "-session:other -type:other -tool:other": 2, "status:pending -app:other": 1, "type:stop -app:app": 0} {
		found, _ := b.SearchAll(t, store.Search{Filter: MustParse(t, text)})
		require.Len(t, found, n, text)
	}
}

func (s suite) TestSearch_IgnoresOmittedPayloads(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	d := NewDraft("app", "s", "PreToolUse", "Bash")
	d.Payload = fmt.Appendf(nil, `{"a":"needle","b":%q}`, strings.Repeat("x", schema.MaxListed))
	b.MustAppend(t, d)
	for text, n := range map[string]int{"needle": 0, "a:needle": 0, "bash": 1, "app": 1, "tool:bash": 1, "-needle": 1} {
		all, _ := b.SearchAll(t, store.Search{Filter: MustParse(t, text)})
		require.Len(t, all, n, text)
	}
}

// More names than fit in a statement are compared for each event.
func (s suite) TestSearch_HandlesManyNames(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	b.AppendMany(t, 600, func(i int) *store.EventDraft { return NewDraft("app", fmt.Sprint("session ", i), "Stop", "") })
	all, _ := b.SearchAll(t, store.Search{Filter: MustParse(t, "session:*1")})
	require.Len(t, all, 60)
	all, _ = b.SearchAll(t, store.Search{Filter: MustParse(t, `session:* -session:"session 7*"`)})
	require.Len(t, all, 600-11)
}

// StartIndexer runs RunIndexer until stop is called, as the hub does.
func (b *Harness) StartIndexer(t testing.TB) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.RunIndexer(ctx) }()
	return func() {
		cancel()
		require.NoError(t, <-done)
	}
}

// Searches, appends, the indexer and retention run concurrently.
func (s suite) TestSearch_IsCorrectUnderConcurrency(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	r := generator{rand.New(rand.NewPCG(7, 8))}
	stopIndex := b.StartIndexer(t)
	for i := range 8 {
		var readers sync.WaitGroup
		for _, text := range []string{"-nowhere", "alpha", "agent:api type:pre*"} {
			readers.Go(func() {
				for n := range 16 {
					q := store.Search{Filter: MustParse(t, text), Limit: 50, Timeout: time.Millisecond, Oldest: n%2 == 0}
					found, err := b.Search(context.Background(), q)
					if err != nil || !slices.IsSortedFunc(found.Events, func(a, b *store.Event) int { return int(a.ID - b.ID) }) {
						t.Errorf("%v %v", EventIDs(found.Events), err)
					}
				}
			})
		}
		b.AppendMany(t, 300, func(n int) *store.EventDraft { return r.draft(300*i + n) })
		_, err := b.Prune(t.Context(), store.RetentionPolicy{EventsBefore: ClockStart.Add(time.Duration(300*i-200) * time.Second), Batch: 100})
		require.NoError(t, err)
		readers.Wait()
	}
	stopIndex()
	s.buildIndex(t, b)
	all, _ := b.SearchAll(t, store.Search{Filter: MustParse(t, "")})
	stats, err := b.Stats(t.Context())
	require.NoError(t, err)
	require.Len(t, all, int(stats.Events))
	require.Less(t, len(all), 2400, "some were pruned")
	for _, text := range []string{"alpha", "agent:api", "command:*beta*", "-gamma"} {
		q := store.Search{Filter: MustParse(t, text)}
		got, _ := b.SearchAll(t, q)
		require.Equal(t, EventIDs(b.naiveSearch(all, q)), EventIDs(got), text)
	}
}
