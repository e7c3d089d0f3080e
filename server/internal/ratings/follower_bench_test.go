//go:build unix

package ratings

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// callDraft is the start or the end of a tool call of one of 40 sessions.
func callDraft(i int) *store.EventDraft {
	typ := []string{"PreToolUse", "PostToolUse"}[i/40%2]
	session := fmt.Sprint("s", i%40)
	return &store.EventDraft{Event: store.Event{
		UID: uuid.Must(uuid.NewV7()).String(), App: "app", Session: session, Type: typ, Tool: "Bash",
		Envelope: fmt.Appendf(nil, `"source_app":"app","session_id":%q,"hook_event_type":%q,"tool_name":"Bash","tool_use_id":"t%d"`, session, typ, i/80),
		Payload:  []byte(`{"cwd":"/src","tool_input":{"command":"cd /src/shop && go test ./order/... -run TestTotal -count 1 2>&1 | tail -20","description":"Run the tests"}}`),
	}}
}

// BenchmarkFollower measures how many rows the follower rates per second of CPU time.
func BenchmarkFollower(b *testing.B) {
	db := storetest.Open(b, storetest.Options{Fast: true})
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	const rows = 20_000
	for i := 0; i < rows; i += 500 {
		drafts := make([]*store.EventDraft, 500)
		for j := range drafts {
			drafts[j] = callDraft(i + j)
		}
		for _, r := range db.AppendAll(b.Context(), drafts) {
			require.NoError(b, r.Err)
		}
	}
	x := &fixture{Follower: New(Config{Store: db, Feed: feed.New(0, 64, 1<<20)}), t: b}
	used := cpuTime()
	x.catchUp()
	b.ReportMetric(float64((cpuTime()-used).Microseconds())/rows, "cpu-µs/row")
	b.ReportMetric(0, "ns/op")
}
