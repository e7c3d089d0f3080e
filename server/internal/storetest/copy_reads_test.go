package storetest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// reads returns the reads of a store, by name.
func reads(ctx context.Context, s store.Store) map[string]func() (any, error) {
	key := store.SessionKey{App: "shop", Session: "s"}
	soon := conformance.ClockStart.Add(24 * time.Hour)
	r := map[string]func() (any, error){
		"hub": func() (any, error) {
			return []any{s.HubID(), s.Head(), s.Pruned(), s.Identity().ID(), s.ActiveFreezes()}, nil
		},
		"Recent":       func() (any, error) { return s.Find(ctx, store.Filter{Limit: 3000}) },
		"Find":         func() (any, error) { return s.Find(ctx, store.Filter{App: "app1", Tool: "", Limit: 500}) },
		"Find session": func() (any, error) { return s.Find(ctx, store.Filter{Session: "session7"}) },
		"Find cleaned": func() (any, error) { return len2(s.Find(ctx, store.Filter{App: "a\x00pp", Session: "s\xff"})) },
		"Find time": func() (any, error) {
			return s.Find(ctx, store.Filter{From: conformance.ClockStart.Add(time.Minute), Limit: 3000})
		},
		"FilterOptions": func() (any, error) {
			o, err := s.FilterOptions(ctx)
			for i, app := range o.SourceApps {
				o.SourceApps[i] = strings.ReplaceAll(app, "\x00", "\uFFFD")
			}
			slices.Sort(o.SourceApps)
			return o, err
		},
		"HasKey":          func() (any, error) { return s.HasKey(ctx, "key100") },
		"Pending":         func() (any, error) { return s.Pending(ctx) },
		"Questions":       func() (any, error) { return s.Questions(ctx, 1<<40, 100) },
		"Lifelines":       func() (any, error) { return s.Lifelines(ctx, store.ByListener, 0) },
		"OpenUndoWindows": func() (any, error) { return s.OpenUndoWindows(ctx) },
		"Listeners": func() (any, error) {
			list, err := s.Listeners(ctx, 0, 99)
			for i := range list {
				list[i].Owner = "" // the hub that runs
			}
			return list, err
		},
		"HasGrants":    func() (any, error) { return s.HasGrants("app", "s"), nil },
		"HasMessages":  func() (any, error) { return []bool{s.HasMessages(key), s.HasWaitingMessages(key)}, nil },
		"InboxCounts":  func() (any, error) { return s.InboxCounts(ctx, "ada") },
		"InboxDays":    func() (any, error) { return s.InboxDays(ctx, []time.Time{conformance.ClockStart, soon}, nil) },
		"Ledger":       func() (any, error) { return s.Ledger(ctx, store.LedgerPage{Limit: 1000}) },
		"LedgerHead":   func() (any, error) { return s.LedgerHead(ctx) },
		"KeyRotations": func() (any, error) { return s.KeyRotations(ctx) },
		"Rules":        func() (any, error) { return s.Rules(ctx, 9) },
		"LiveRules":    func() (any, error) { return s.LiveRules(ctx, conformance.ClockStart) },
		"FreezeOf":     func() (any, error) { return s.FreezeOf("app2", "session5"), nil },
		"Freezes": func() (any, error) {
			return s.AutomaticFreezes(ctx, store.AutomaticFreezeFilter{Rule: control.RuleSpend, Limit: 9})
		},
		"Documents": func() (any, error) {
			var documents []any
			for _, name := range []string{store.SafetyLimits, store.RequestDefaults, store.PublicAddress, store.AlertRules} {
				var document any
				if err := s.Document(ctx, name, &document); err != nil {
					return nil, err
				}
				documents = append(documents, document)
			}
			return documents, nil
		},
		"Coverage":           func() (any, error) { return s.Coverage(ctx) },
		"open alerts":        func() (any, error) { return s.Alerts(ctx, true, 9) },
		"closed alerts":      func() (any, error) { return s.Alerts(ctx, false, 9) },
		"Channels":           func() (any, error) { return s.Channels(ctx) },
		"Subscriptions":      func() (any, error) { return s.PushSubscriptions(ctx, "ada") },
		"Subscribers":        func() (any, error) { return s.PushSubscribers(ctx) },
		"Settings":           func() (any, error) { return s.NotificationSettings(ctx, "ada") },
		"NotificationCursor": func() (any, error) { return s.NotificationCursor(ctx) },
		"ChatOffset":         func() (any, error) { return s.ChatOffset(ctx, 2) },
		"ChatAccount":        func() (any, error) { return s.ChatAccount(ctx, "telegram", "1") },
		"ChatMessage":        func() (any, error) { return s.ChatMessage(ctx, 2, "-100", "5") },
		"SessionTools":       func() (any, error) { return s.SessionTools(ctx, 1) },
		"SessionFacts":       func() (any, error) { return s.SessionFacts(ctx, "app", "session0") },
		"SessionsWithID":     func() (any, error) { return s.SessionsWithID(ctx, "session1") },
		"PendingCounts":      func() (any, error) { return s.PendingCounts(ctx) },
		"Activity":           func() (any, error) { return s.Activity(ctx, 0) },
		"Spend":              func() (any, error) { return s.Spend(ctx, 0, 1000) },
		"Decisions":          func() (any, error) { return s.Decisions(ctx, 0, 1000) },
		"ToolTimes":          func() (any, error) { return s.ToolTimes(ctx, 0) },
		"ProjectionCursor":   func() (any, error) { return s.ProjectionCursor(ctx) },
		"RatingCursor":       func() (any, error) { return s.RatingCursor(ctx) },
		"OpenCalls":          func() (any, error) { return s.OpenCalls(ctx) },
		"RiskyCalls":         func() (any, error) { return s.RiskyCalls(ctx, store.RiskyCallFilter{}) },
		"Recount":            func() (any, error) { return s.Recount(ctx, time.UnixMilli(0), time.Now()) },
		"CallCounts":         func() (any, error) { return s.CallCounts(ctx, 0, 1000) },
		"Shares":             func() (any, error) { return s.Shares(ctx) },
		"People": func() (any, error) {
			p, err := s.People(ctx)
			if err != nil {
				return nil, err
			}
			slices.SortFunc(p.Persons, func(a, b store.Person) int { return strings.Compare(a.Name, b.Name) })
			for i := range p.SignIns { // text of SQLite may be invalid
				p.SignIns[i].UserAgent = strings.ToValidUTF8(p.SignIns[i].UserAgent, "\uFFFD")
			}
			return p, nil
		},
		"PushKeys": func() (any, error) { private, public, err := s.PushKeys(ctx); return []string{private, public}, err },
		"Inbox": func() (any, error) {
			events, more, err := s.Inbox(ctx, store.InboxFilter{Limit: 50})
			return []any{events, more}, err
		},
		"Inbox of ada": func() (any, error) {
			events, more, err := s.Inbox(ctx, store.InboxFilter{Limit: 50, Awaiting: "ada"})
			return []any{events, more}, err
		},
		"DueQuestions":   func() (any, error) { due, next, err := s.DueQuestions(ctx, soon, 99); return []any{due, next}, err },
		"QuestionsSince": func() (any, error) { ids, upTo, err := s.QuestionsSince(ctx, 0, 99); return []any{ids, upTo}, err },
		"Sessions": func() (any, error) {
			facts, next, err := s.Sessions(ctx, store.SessionFilter{Limit: 9})
			return []any{facts, next}, err
		},
		"chat search": func() (any, error) {
			facts, next, err := s.Sessions(ctx, store.SessionFilter{Limit: 9, Text: "zebra"})
			return []any{facts, next}, err
		},
		"SessionsOf": func() (any, error) {
			active, latest, err := s.SessionsOf(ctx, "app", time.UnixMilli(1))
			return []any{active, latest}, err
		},
		"Messages": func() (any, error) {
			list, err := s.Messages(ctx, key, 50)
			for i := range list {
				list[i].Text = strings.ReplaceAll(list[i].Text, "\x00", "\uFFFD")
			}
			return list, err
		},
	}
	return r
}

func len2[T any](list []T, err error) (int, error) { return len(list), err }

// requireSame requires that both stores return the same, except for names that PostgreSQL can't hold.
func requireSame(t *testing.T, source, target store.Store) {
	t.Helper()
	ctx := t.Context()
	of := reads(ctx, target)
	for name, read := range reads(ctx, source) {
		want, err := read()
		require.NoError(t, err, name)
		got, err := of[name]()
		require.NoError(t, err, name)
		require.Equal(t, cleaned(t, want), cleaned(t, got), name)
	}
	for seq := int64(0); seq < source.Head(); seq++ {
		want, err := source.After(ctx, seq, 1)
		require.NoError(t, err)
		got, err := target.After(ctx, seq, 1)
		require.NoError(t, err)
		require.Equal(t, cleaned(t, want), cleaned(t, got))
		if want[0].Change {
			continue
		}
		event, transcript, err := source.Event(ctx, schema.EventID(seq+1))
		require.NoError(t, err)
		gotEvent, gotTranscript, err := target.Event(ctx, schema.EventID(seq+1))
		require.NoError(t, err)
		require.Equal(t, [][]byte{event.Payload, event.Envelope, transcript}, [][]byte{gotEvent.Payload, gotEvent.Envelope, gotTranscript}, "byte by byte")
		if event.Question == nil {
			continue
		}
		requireSameQuestion(t, source, target, event.ID)
	}
}

func requireSameQuestion(t *testing.T, source, target store.Store, id schema.EventID) {
	t.Helper()
	ctx := t.Context()
	var both [2][]any
	for i, s := range []store.Store{source, target} {
		q, err := s.Question(ctx, id)
		require.NoError(t, err)
		members, err := s.GroupMembers(ctx, id)
		require.NoError(t, err)
		outcomes, err := s.EarlierOutcomes(ctx, id)
		require.NoError(t, err)
		notifications, err := s.NotificationsOf(ctx, id)
		require.NoError(t, err)
		progress, err := s.NotificationProgress(ctx, id)
		require.NoError(t, err)
		used, err := s.IsLinkUsed(ctx, id, []byte("mac"))
		require.NoError(t, err)
		q.Delivery = withoutLease(q.Delivery)
		both[i] = []any{fmt.Sprintf("%+v", q.NewQuestion), q.Event, q.Version, q.State, q.Delivery, q.Receipt, q.Proofs, q.Answer, q.UndoWindow, members, outcomes, notifications, progress, used}
	}
	require.Equal(t, cleaned(t, both[0]), cleaned(t, both[1]))
}

// withoutLease drops the values that the start of a hub sets.
func withoutLease(d *store.Delivery) *store.Delivery {
	if d != nil {
		d.Due, d.Leased = time.Time{}, time.Time{}
	}
	return d
}

// cleaned returns the JSON of a value as PostgreSQL could hold its texts.
func cleaned(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(jsonable(value))
	require.NoError(t, err)
	return strings.NewReplacer(`\u0000`, "\uFFFD", `\ufffd`, "\uFFFD").Replace(string(text))
}

// jsonable replaces maps whose keys are structs.
func jsonable(value any) any {
	switch value.(type) {
	case map[store.ToolKey]store.ToolTime, map[store.SpendGroup]store.Spend, map[store.Decision]int64,
		map[store.CallKey]store.CallCount, map[store.SessionKey]int64:
		return fmt.Sprint(value)
	}
	return value
}
