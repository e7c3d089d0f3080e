package usage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/usage"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

// start is when the sessions of these tests start, Unix ms.
const start = 1_795_262_400_000

// message returns the line of a request. used is such as "opus 1 30": its model, its time in seconds after start
// and its input tokens.
func message(session, id, used string) string {
	var model string
	var seconds, n int
	_, _ = fmt.Sscan(used, &model, &seconds, &n)
	return fmt.Sprintf(`{"sessionId":%q,"type":"assistant","timestamp":"2026-11-21T12:00:%02dZ","requestRef":"r-%s","message":{"id":%q,"model":%q,"usage":{"input_tokens":%d}}}`,
		session, seconds, id, id, model, n)
}

// total returns a cost-state line. models are such as "opus 30 0.5": a model, its input tokens and its cost.
func total(session string, since int64, models ...string) string {
	var members []string
	for _, m := range models {
		f := strings.Fields(m)
		members = append(members, fmt.Sprintf(`%q:{"inputTokens":%s,"costUSD":%s}`, f[0], f[1], f[2]))
	}
	return fmt.Sprintf(`{"type":"cost-state","sessionId":%q,"totalCostUSD":9,"startTime":%d,"modelUsage":{%s}}`, session, since, strings.Join(members, ","))
}

// sums returns the usage of a session, such as "opus 30 0.50", by model.
func sums(books *usage.Books, session string) map[string]string {
	tokens, cost := map[string]int64{}, map[string]float64{}
	for _, u := range books.Of(session) {
		tokens[u.Model], cost[u.Model] = tokens[u.Model]+u.Tokens.Input, cost[u.Model]+u.CostUSD
	}
	got := map[string]string{}
	for model := range tokens {
		got[model] = fmt.Sprintf("%d %.2f", tokens[model], cost[model])
	}
	return got
}

func TestBooks(t *testing.T) {
	t.Parallel()
	one, two := message("a", "1", "opus 1 10"), message("a", "2", "haiku 2 20")
	copied := strings.NewReplacer(`"sessionId":"a"`, `"requestSessionId":"a","sessionId":"b"`).Replace(one)
	for name, c := range map[string]struct {
		a, b []string // the lines of two sessions
		sub  []string // of another file of a
		want map[string]string
		ofB  map[string]string
	}{
		"messages have no cost":      {a: []string{one, two}, want: map[string]string{"opus": "10 0.00", "haiku": "20 0.00"}},
		"repeated message":           {a: []string{one, one}, want: map[string]string{"opus": "10 0.00"}},
		"id of an earlier request":   {a: []string{one, strings.Replace(one, "r-1", "r-9", 1)}, want: map[string]string{"opus": "20 0.00"}},
		"total":                      {a: []string{one, two, total("a", start, "opus 10 0.5", "haiku 20 0.25")}, want: map[string]string{"opus": "10 0.50", "haiku": "20 0.25"}},
		"requests without a message": {a: []string{one, total("a", start, "opus 10 0.5", "haiku 7 0.25")}, want: map[string]string{"opus": "10 0.50", "haiku": "7 0.25"}},
		"total below its messages":   {a: []string{one, two, total("a", start, "opus 9 0.5")}, want: map[string]string{"opus": "9 0.50"}},
		"another name of the model":  {a: []string{one, total("a", start, "us.opus-v1 10 0.5")}, want: map[string]string{"us.opus-v1": "10 0.50"}},
		"variant of the model":       {a: []string{one, total("a", start, "opus[1m] 10 0.5", "opus 1 0.25")}, want: map[string]string{"opus": "11 0.75"}},
		"resumed": {a: []string{one, total("a", start, "opus 10 0.5"), two, total("a", start, "opus 10 0.5", "haiku 20 0.25")},
			want: map[string]string{"opus": "10 0.50", "haiku": "20 0.25"}},
		"subagent that ends last": {a: []string{one, total("a", start, "opus 10 0.5", "haiku 20 0.25")}, sub: []string{two},
			want: map[string]string{"opus": "10 0.50", "haiku": "20 0.25"}},
		"older copy of the file": {a: []string{one, total("a", start, "opus 10 0.5"), two, total("a", start, "opus 10 0.5", "haiku 20 0.25")},
			sub: []string{one, total("a", start, "opus 10 0.5")}, want: map[string]string{"opus": "10 0.50", "haiku": "20 0.25"}},
		"runs again": {a: []string{one, total("a", start, "opus 10 0.5"), two}, want: map[string]string{"opus": "10 0.50", "haiku": "20 0.00"}},
		"resumed without its totals": {a: []string{one, total("a", start, "opus 10 0.5"), two, total("a", start+1500, "haiku 20 0.25")},
			want: map[string]string{"opus": "10 0.50", "haiku": "20 0.25"}},
		"copy with the totals of its original": {
			a:    []string{one, total("a", start, "opus 10 0.5")},
			b:    []string{copied, message("b", "3", "opus 3 30"), total("b", start, "opus 40 2")},
			want: map[string]string{"opus": "10 0.50"}, ofB: map[string]string{"opus": "30 1.50"},
		},
		"copy of a session that continues": {
			a:    []string{one, total("a", start, "opus 10 0.5"), two, total("a", start, "opus 10 0.5", "haiku 20 0.25")},
			b:    []string{copied, message("b", "3", "haiku 3 30"), total("b", start, "opus 10 0.5", "haiku 30 2")},
			want: map[string]string{"opus": "10 0.50", "haiku": "20 0.25"}, ofB: map[string]string{"haiku": "30 2.00"},
		},
		"copy with totals of its own": {
			a:    []string{one, total("a", start, "opus 10 0.5")},
			b:    []string{copied, message("b", "3", "opus 3 30"), total("b", start+1500, "opus 30 2")},
			want: map[string]string{"opus": "10 0.50"}, ofB: map[string]string{"opus": "30 2.00"},
		},
		"impossible values": {a: []string{
			strings.Replace(one, ":10}", `:-5,"output_tokens":1e300}`, 1), total("a", start, "opus -1 -2", "haiku 1e300 1e300"), total("a", -5, "opus 0 0"),
		}, want: map[string]string{}},
		"no totals": {a: []string{one, `{"type":"cost-state","sessionId":"a","modelUsage":[]}`, `{"type":"cost-state","modelUsage":{"opus":5}}`, `"costUSD"`},
			want: map[string]string{"opus": "10 0.00"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			books := usage.NewBooks()
			for id, lines := range map[string][]string{"a": c.a, "b": c.b} {
				_, err := books.Read(strings.NewReader(strings.Join(lines, "\n")), id, true)
				require.NoError(t, err)
			}
			_, err := books.Read(strings.NewReader(strings.Join(c.sub, "\n")), "a", false)
			require.NoError(t, err)
			require.Equal(t, c.want, sums(books, "a"))
			if c.ofB != nil {
				require.Equal(t, c.ofB, sums(books, "b"))
			}
			require.Empty(t, books.Of("unknown"))
		})
	}
}

// Tokens have the times of their messages, and the rest that of the last one.
func TestBooks_KeepTimes(t *testing.T) {
	t.Parallel()
	books := usage.NewBooks()
	_, err := books.Read(strings.NewReader(message("a", "1", "opus 1 10")+"\n"+message("a", "2", "opus 2 20")+"\n"+total("a", start, "opus 33 0.5")), "a", true)
	require.NoError(t, err)
	used := func(seconds, requests, n int64, cost float64) history.ImportedUsage {
		return history.ImportedUsage{At: schema.Millis(start + 1000*seconds), Model: "opus", Requests: requests, Tokens: history.Tokens{Input: n}, CostUSD: cost}
	}
	require.Equal(t, []history.ImportedUsage{used(1, 1, 10, 0), used(2, 0, 3, 0), used(2, 1, 20, 0), used(2, 0, 0, 0.5)}, books.Of("a"))
}

func TestEachLine_AnyLength(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200_000)
	for text, want := range map[string][]string{
		"":                                nil,
		" \n\n":                           nil,
		"a\r\nb":                          {"a", "b"},
		long + "\n" + long + "y\nend\n\n": {long, long + "y", "end"},
		strings.Repeat("x", usage.MaxLine+1) + "\nend": {"", "end"},
	} {
		var got []string
		require.NoError(t, usage.EachLine(strings.NewReader(text), func(line []byte) { got = append(got, string(line)) }))
		require.Equal(t, want, got)
	}
}
