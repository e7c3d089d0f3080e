package hub

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/redact"
)

// toolEvent is a hook event of the typical size, 1.2 KB.
var toolEvent = []byte(`{"source_app":"payments-api","session_id":"f3a91c07-5b1e-4a52-9d57-0c8d6b0f3a91","hook_event_type":"PostToolUse",` +
	`"payload":{"session_id":"f3a91c07-5b1e-4a52-9d57-0c8d6b0f3a91","transcript_path":"/home/mara/.claude/projects/payments/f3a91c07.jsonl",` +
	`"cwd":"/home/mara/src/payments-api","permission_mode":"default","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":` +
	`{"command":"go test ./internal/store -run TestAppend -count=1","description":"Run the store's tests","timeout":120000},"tool_response":{"stdout":"` +
	strings.Repeat(`ok  \tgithub.com/example/payments/internal/store\t0.412s\n`, 8) + `","stderr":"","interrupted":false,"isImage":false},` +
	`"tool_use_id":"toolu_01QkYp7dVn3cJ4w8XhZr2TbE"},"timestamp":1734189234000,"summary":"Bash: go test ./internal/store","tool_name":"Bash",` +
	`"tool_use_id":"toolu_01QkYp7dVn3cJ4w8XhZr2TbE","model_name":"claude-sonnet-4-5"}`)

// BenchmarkDraft measures an event's cost before it is queued: copy, redaction, truncation.
func BenchmarkDraft(b *testing.B) {
	for _, c := range []struct {
		name string
		hub  *Hub
	}{
		{"redacted", &Hub{Config: Config{Redactor: redact.New()}}},
		{"plain", &Hub{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.hub.Clock = fixedClock
			b.ReportAllocs()
			b.SetBytes(int64(len(toolEvent)))
			for b.Loop() {
				_, err := c.hub.draft(b.Context(), toolEvent, Caller{})
				require.NoError(b, err)
			}
		})
	}
}

func fixedClock() time.Time { return time.UnixMilli(1734189234000) }
