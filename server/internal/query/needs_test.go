package query_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/storetest"
)

var updateCases = flag.Bool("update-cases", false, "write the cases of the page anew")

// needsCases is the file of states that the page's test counts, too.
const needsCases = "../../../dashboard/src/testing/needs-you-cases.json"

// needsCase is a set of open requests and how many of them need ada.
type needsCase struct {
	Requests []needsRequest `json:"requests"`
	NeedsYou int64          `json:"needsYou"`
}

type needsRequest struct {
	ID       schema.EventID `json:"id"`
	Question needsQuestion  `json:"question"`
	Status   schema.Status  `json:"status"`
}

type needsQuestion struct {
	RequiresResponse  *bool `json:"requiresResponse,omitempty"`
	RequiredApprovals int   `json:"requiredApprovals,omitempty"`
}

// randomRequests returns states that the hub can have: an equal call follows an earlier one, and
// Awaiting are the recipients without a vote.
func randomRequests(r *rand.Rand) []needsRequest {
	people := []string{"ada", "grace", "eve"}
	pick := func() (names []string) {
		for _, name := range people {
			if r.IntN(2) == 0 {
				names = append(names, name)
			}
		}
		return names
	}
	list := make([]needsRequest, 1+r.IntN(6))
	for i := range list {
		q := &list[i]
		q.ID = schema.EventID(i + 1)
		q.Status = schema.Status{Status: "pending", Waiter: []schema.Waiter{"", schema.Lost, schema.Listening}[r.IntN(3)]}
		if r.IntN(4) == 0 {
			q.Question.RequiresResponse = new(r.IntN(2) == 0)
		}
		if r.IntN(4) == 0 {
			q.Question.RequiredApprovals = 2
		}
		if r.IntN(8) == 0 {
			q.Status.Test = true
		}
		if r.IntN(6) == 0 {
			q.Status.Held = &schema.PendingUndo{Until: 9_000_000_000_000}
		}
		if r.IntN(3) == 0 {
			q.Status.Recipients = pick()
		}
		if q.Question.RequiredApprovals > 1 {
			for _, name := range pick() {
				if q.Status.Recipients == nil || slices.Contains(q.Status.Recipients, name) {
					q.Status.Votes = append(q.Status.Votes, schema.Vote{User: name})
				}
			}
		}
		for _, name := range q.Status.Recipients {
			if !slices.ContainsFunc(q.Status.Votes, func(v schema.Vote) bool { return v.User == name }) {
				q.Status.Awaiting = append(q.Status.Awaiting, name)
			}
		}
		if first := 1 + r.IntN(i+1); first <= i && list[first-1].Status.SameAs == 0 &&
			!list[first-1].Status.Test && !q.Status.Test && r.IntN(3) == 0 {
			q.Status.SameAs = schema.EventID(first)
		}
	}
	return list
}

func countFor(name string, list []needsRequest) int64 {
	open := map[schema.EventID]*query.OpenRequest{}
	for i := range list {
		q := &list[i]
		if q.Status.Test {
			continue
		}
		open[q.ID] = &query.OpenRequest{
			ID: q.ID, Asks: q.Question.RequiresResponse == nil || *q.Question.RequiresResponse,
			Votes: q.Question.RequiredApprovals > 1, Status: q.Status,
		}
	}
	return query.CountNeeds(open, func(r *query.OpenRequest) *query.OpenRequest { return r }, name)
}

// TestCountNeeds_AgreesWithThePage writes random states with the hub's count, or checks that they are
// current. requests.test.ts requires the same counts from the page.
func TestCountNeeds_AgreesWithThePage(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(17, 1))
	cases := make([]needsCase, 150)
	counts := map[int64]int{}
	for i := range cases {
		cases[i].Requests = randomRequests(r)
		cases[i].NeedsYou = countFor("ada", cases[i].Requests)
		counts[cases[i].NeedsYou]++
	}
	require.Greater(t, len(counts), 3, "the states differ: %v", counts)
	var b bytes.Buffer
	b.WriteString("[\n")
	for i := range cases {
		line, err := json.Marshal(cases[i])
		require.NoError(t, err)
		b.Write(line)
		b.WriteString([]string{",\n", "\n"}[i/(len(cases)-1)])
	}
	b.WriteString("]\n")
	if *updateCases {
		require.NoError(t, os.WriteFile(needsCases, b.Bytes(), 0o644))
	}
	want, err := os.ReadFile(needsCases)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, b.Bytes()), "run go test ./server/internal/query -update-cases")
}

func TestNeedsYou_ReadsOpenRequests(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, storetest.Options{Fast: true})
	t.Cleanup(func() { _ = db.Close() })
	f := feed.New(0, 64, 1<<20)
	h := hub.New(hub.Config{Store: db, Feed: f})
	s := query.New(query.Config{Store: db, Feed: f})
	count := func() int64 {
		n, err := s.NeedsYou(t.Context(), auth.Identity{Name: "ada"})
		require.NoError(t, err)
		return n
	}
	require.Zero(t, count())
	var ids []schema.EventID
	for _, q := range []string{
		`{"question":"One?","type":"permission"}`,
		`{"question":"For your information","type":"permission","requiresResponse":false}`,
	} {
		ack, err := h.Ingest(t.Context(), []byte(`{"source_app":"a","session_id":"s","hook_event_type":"PermissionRequest","payload":{},"humanInTheLoop":`+q+`}`), hub.Caller{})
		require.NoError(t, err)
		ids = append(ids, ack.ID)
	}
	require.EqualValues(t, 1, count())
	_, err := h.Cancel(t.Context(), ids[0], schema.Cancel{}, hub.Caller{})
	require.NoError(t, err)
	require.Zero(t, count())
}
