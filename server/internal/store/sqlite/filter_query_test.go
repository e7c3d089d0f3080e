package sqlite

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// AppendMany appends n events without waiting for each, so the writer commits groups.
func (b *testStore) AppendMany(t testing.TB, n int, make func(i int) *store.EventDraft) {
	t.Helper()
	for from := 0; from < n; from += 512 {
		var pending []*tables.Op
		for i := from; i < min(n, from+512); i++ {
			pending = append(pending, newAppendOp(make(i)))
		}
		b.enqueue(t, pending...)
		for _, o := range pending {
			require.NoError(t, b.Queue.Wait(context.Background(), o))
		}
	}
}

func TestAppendJSON_KeepsSentBytes(t *testing.T) {
	t.Parallel()
	e := conformance.NewQuestionDraft("s", time.Time{}).Event
	e.ID, e.UID, e.Payload = 7, "u", []byte(`{"a" : 1.0}`)
	require.Equal(t, `{"id":7,"uid":"u","timestamp":1758000000000,"source_app":"app","session_id":"s","hook_event_type":"PermissionRequest",`+
		`"payload":{"a" : 1.0},"humanInTheLoop":{"question":"May I?","type":"permission"},`+
		`"humanInTheLoopStatus":{"status":"pending","revision":1}}`, string(e.AppendJSON(nil, -1)))
	e.Question, e.Envelope = nil, nil
	require.Equal(t, `{"id":7,"uid":"u","timestamp":1758000000000,"payload":{},"payloadTruncated":true,"payloadBytes":11}`, string(e.AppendJSON(nil, 10)))
}

// FuzzFind_MatchesText compares the search with strings.Contains on the question's text.
func FuzzFind_MatchesText(f *testing.F) {
	for _, seed := range [][2]string{{"May I?", "i?"}, {"100%", "0%"}, {"a_b", "a_"}, {`\`, `\`}, {"ab", "a%b"}, {"ab", "a_"}, {"\x00", "\x00"}, {"İ", "i"}} {
		f.Add(seed[0], seed[1])
	}
	b := newTestStore(f)
	f.Fuzz(func(t *testing.T, text, search string) {
		if search == "" || len(search) > 1<<10 || strings.ContainsRune(text+search, 0) ||
			!utf8.ValidString(text) || !utf8.ValidString(search) {
			return
		}
		d := conformance.NewQuestionDraft("s", time.Time{})
		d.NewQuestion.Text, d.Payload, d.Envelope = text, []byte(`{}`), nil
		id := b.MustAppend(t, d).ID
		got, err := b.Find(context.Background(), store.Filter{Text: search, After: id - 1})
		require.NoError(t, err)
		// The rest of the event's JSON is just the payload's two braces.
		want := strings.Contains(foldASCII(text), foldASCII(search)) || strings.Contains(`{}`, search)
		require.Equal(t, want, len(got) == 1, "%q in %q", search, text)
	})
}

func foldASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
