package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// TableCall is a call whose statements have plans.
type TableCall struct {
	Name string
	Run  func(ctx context.Context, t *tables.Tables) error
}

// TableCalls are calls of the shared tables. The position since is before n rows of the log.
func TableCalls(since int64) []TableCall {
	at := time.UnixMilli(since)
	session := store.SessionKey{App: "app", Session: "s9"}
	notice := &store.Notification{ID: 1, Channel: 1, Due: at, Notification: schema.Notification{Person: "person1"}}
	ledger := func(p store.LedgerPage) func(context.Context, *tables.Tables) error {
		p.Limit = 9
		return func(ctx context.Context, t *tables.Tables) error { return errorOf(t.Ledger(ctx, p)) }
	}
	return []TableCall{
		{"NotificationCursor", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.NotificationCursor(ctx)) }},
		{"QuestionsSince", func(ctx context.Context, t *tables.Tables) error {
			_, _, err := t.QuestionsSince(ctx, since, 9)
			return err
		}},
		{"NotificationProgress", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.NotificationProgress(ctx, 4)) }},
		{"BecameGroupLeader", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.BecameGroupLeader(ctx, 4)) }},
		{"NotificationsOf", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.NotificationsOf(ctx, 4)) }},
		{"DueNotifications", func(ctx context.Context, t *tables.Tables) error {
			_, _, err := t.DueNotifications(ctx, 1, at, 9)
			return err
		}},
		{"ClaimNotification", func(ctx context.Context, t *tables.Tables) error {
			return errorOf(t.ClaimNotification(ctx, notice, at.Add(time.Second), at))
		}},
		{"ReleaseNotificationLeases", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.ReleaseNotificationLeases(ctx)) }},
		{"Channels", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.Channels(ctx)) }},
		{"AddPushSubscription", func(ctx context.Context, t *tables.Tables) error {
			return t.AddPushSubscription(ctx, "ada", schema.PushSubscription{Endpoint: "e"}, 9)
		}},
		{"PushSubscriptions", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.PushSubscriptions(ctx, "ada")) }},
		{"PushSubscribers", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.PushSubscribers(ctx)) }},
		{"IsLinkUsed", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.IsLinkUsed(ctx, 1, []byte{1})) }},
		{"ChatAccount", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.ChatAccount(ctx, "telegram", "1")) }},
		{"ChatAccounts", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.ChatAccounts(ctx, "ada")) }},
		{"ChatMessage", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.ChatMessage(ctx, 1, "1", "4")) }},
		{"MessagesToSettle", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.MessagesToSettle(ctx, 1, 9)) }},
		{"Ledger", ledger(store.LedgerPage{Oldest: true})},
		{"Ledger, newest", ledger(store.LedgerPage{})},
		{"Ledger, of a question", ledger(store.LedgerPage{Oldest: true, QuestionID: 4})},
		{"Ledger, newest of a question", ledger(store.LedgerPage{QuestionID: 4})},
		{"LedgerHead", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.LedgerHead(ctx)) }},
		{"KeyRotations", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.KeyRotations(ctx)) }},
		{"Listeners", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.Listeners(ctx, 0, 9)) }},
		{"EarlierOutcomes", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.EarlierOutcomes(ctx, 4)) }},
		{"Rules", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.Rules(ctx, 9)) }},
		{"LiveRules", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.LiveRules(ctx, at)) }},
		{"RevokeRule", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.RevokeRule(ctx, 1, "ada", at)) }},
		{"Messages", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.Messages(ctx, session, 9)) }},
		{"CreateMessage", func(ctx context.Context, t *tables.Tables) error {
			_, _, err := t.CreateMessage(ctx, store.MessageDraft{
				MessageDraft: control.MessageDraft{SourceApp: "app", SessionID: "s9", Text: "Stop."}, From: "ada", Key: "k",
			})
			return err
		}},
		{"Append, messages", func(ctx context.Context, t *tables.Tables) error {
			return t.Write(ctx, tables.Plain, func(w *tables.Work) error {
				return w.AdvanceMessages(&store.Event{ID: 9, App: "app", Session: "s9"}, &store.MessageStep{ActedOn: true})
			})
		}},
		{"Prune, messages", func(ctx context.Context, t *tables.Tables) error {
			return t.Write(ctx, tables.Plain, func(w *tables.Work) error { return errorOf(w.PruneMessages(9, 256)) })
		}},
	}
}

func errorOf(_ any, err error) error { return err }

// Statement is a statement that a call ran.
type Statement struct {
	Name, Query string
	Args        []any
}

// Statements returns the statements of calls that read, change or remove rows, each one once.
func Statements(t testing.TB, s *tables.Tables, calls []TableCall) (list []Statement) {
	t.Helper()
	recorded := &recorder{Engine: s.Engine}
	// What runs in the background keeps its own tables, so that its statements aren't recorded.
	s = &tables.Tables{Engine: recorded, Queue: s.Queue, State: s.State, ID: s.ID, Key: s.Key}
	seen := map[string]bool{}
	for _, call := range calls {
		recorded.list = nil
		if err := call.Run(t.Context(), s); !errors.Is(err, schema.ErrNotFound) && !errors.Is(err, schema.ErrNoQuestion) {
			require.NoError(t, err, call.Name)
		}
		slices.SortStableFunc(recorded.list, func(a, b Statement) int { return cmp.Compare(a.Query, b.Query) }) // some run in any order
		n := 0
		for _, one := range recorded.list {
			if strings.HasPrefix(one.Query, "INSERT ") || strings.HasPrefix(one.Query, "PRAGMA ") {
				continue
			}
			n++
			if seen[one.Query] {
				continue
			}
			seen[one.Query] = true
			if n > 1 {
				one.Name = fmt.Sprint(call.Name, ", ", n)
			} else {
				one.Name = call.Name
			}
			list = append(list, one)
		}
		require.Positive(t, n, "%s ran no statement", call.Name)
	}
	return list
}

// recorder records the statements of an engine.
type recorder struct {
	tables.Engine
	list []Statement
}

func (r *recorder) add(query string, args []any) {
	r.list = append(r.list, Statement{Query: query, Args: slices.Clone(args)})
}

func (r *recorder) Read(ctx context.Context, each func(tables.Rows) error, query string, args ...any) error {
	r.add(query, args)
	return r.Engine.Read(ctx, each, query, args...)
}

func (r *recorder) ReadOne(ctx context.Context, into []any, query string, args ...any) (bool, error) {
	r.add(query, args)
	return r.Engine.ReadOne(ctx, into, query, args...)
}

func (r *recorder) Commit(ctx context.Context, o *tables.Op, until <-chan struct{}) error {
	run := o.Run
	o.Run = func(w *tables.Work) error {
		before := w.Tx
		w.Tx = recordedTx{before, r}
		defer func() { w.Tx = before }()
		return run(w)
	}
	return r.Engine.Commit(ctx, o, until)
}

type recordedTx struct {
	tables.Tx
	r *recorder
}

func (t recordedTx) Exec(query string, args ...any) error {
	t.r.add(query, args)
	return t.Tx.Exec(query, args...)
}

func (t recordedTx) ExecCount(query string, args ...any) (int64, error) {
	t.r.add(query, args)
	return t.Tx.ExecCount(query, args...)
}

func (t recordedTx) ExecOne(guard tables.Guard, query string, args ...any) error {
	t.r.add(query, args)
	return t.Tx.ExecOne(guard, query, args...)
}

func (t recordedTx) Get(into []any, query string, args ...any) (bool, error) {
	t.r.add(query, args)
	return t.Tx.Get(into, query, args...)
}

func (t recordedTx) Query(each func(tables.Rows) error, query string, args ...any) error {
	t.r.add(query, args)
	return t.Tx.Query(each, query, args...)
}
