package httpapi

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

func (r *harness) search(filter, more string) history.SearchResult {
	r.t.Helper()
	resp, b := r.do("GET", schema.PathSearch+"?filter="+url.QueryEscape(filter)+more, "")
	require.Equal(r.t, 200, resp.StatusCode, string(b))
	var found history.SearchResult
	require.NoError(r.t, json.Unmarshal(b, &found))
	return found
}

func idsOf(events []schema.Event) []schema.EventID {
	ids := []schema.EventID{}
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return ids
}

func TestSearch_PaginatesBothWays(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for n := range 10 {
		r.post(event(n, fmt.Sprintf(`"summary":"step %d %s"`, n, []string{"even", "Odd"}[n%2])))
	}
	r.post(event(11, permission))

	newest := r.search("odd", "&limit=2")
	require.Equal(t, []schema.EventID{8, 10}, idsOf(newest.Events))
	require.False(t, newest.Complete)
	older := r.search("odd", fmt.Sprintf("&limit=9&before=%d", newest.SearchedTo))
	require.Equal(t, []schema.EventID{2, 4, 6}, idsOf(older.Events))
	require.True(t, older.Complete)

	oldest := r.search("odd", "&limit=2&after=0")
	require.Equal(t, []schema.EventID{2, 4}, idsOf(oldest.Events))
	newer := r.search("odd", fmt.Sprintf("&after=%d", oldest.SearchedTo))
	require.Equal(t, []schema.EventID{6, 8, 10}, idsOf(newer.Events))
	require.True(t, newer.Complete)
	require.Equal(t, schema.EventID(11), newer.SearchedTo, "a later search continues from here")

	require.Equal(t, []schema.EventID{11}, idsOf(r.search("status:pending kind:permission", "").Events))
	require.Len(t, r.search("", "").Events, 11)
	nothing := r.search("nowhere", "")
	require.Equal(t, []schema.Event{}, nothing.Events)
	require.True(t, nothing.Complete)
}

func TestSearch_RejectsInvalidQueries(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for query, want := range map[string][2]string{
		"filter=/(/":                          {"filter", "missing closing"},
		"filter=/a(?=b)/":                     {"filter", "look-ahead"},
		"filter=%FF":                          {"filter", "UTF-8"},
		"filter=" + strings.Repeat("x", 1025): {"filter", "1024"},
		"filter=" + strings.Repeat("x+", 65):  {"filter", "64 terms"},
		"limit=0":                             {"limit", "1 to 1000"},
		"limit=1001":                          {"limit", "1 to 1000"},
		"limit=x":                             {"limit", "whole number"},
		"before=-1":                           {"before", "whole number"},
		"after=x":                             {"after", "whole number"},
		"from=yesterday":                      {"from", "whole number"},
		"to=99999999999999999999":             {"to", "whole number"},
		"filter=/%5Cu12/":                     {"filter", "number"},
	} {
		resp, b := r.do("GET", schema.PathSearch+"?"+query, "")
		require.Equal(t, 400, resp.StatusCode, query)
		p := r.problem(resp, b)
		require.Equal(t, want[0], p.Field, query)
		require.Contains(t, p.Detail, want[1], query)
	}
}

// A page of large events ends at the size limit, and the next page continues there.
func TestSearch_BoundsPageSize(t *testing.T) {
	t.Parallel()
	r := setup(t)
	body := event(1, `"summary":"`+strings.Repeat("x", 200<<10)+`"`)
	for range 50 {
		r.post(body)
	}
	seen, before := 0, ""
	for pages := 1; ; pages++ {
		require.Less(t, pages, 1000)
		resp, b := r.do("GET", schema.PathSearch+"?filter=pretooluse&limit=1000"+before, "")
		require.Equal(t, 200, resp.StatusCode)
		require.LessOrEqual(t, len(b), 4<<20)
		var found history.SearchResult
		require.NoError(t, json.Unmarshal(b, &found))
		seen += len(found.Events)
		if found.Complete {
			require.Greater(t, pages, 2)
			break
		}
		before = fmt.Sprintf("&before=%d", found.SearchedTo)
	}
	require.Equal(t, 50, seen)
}
