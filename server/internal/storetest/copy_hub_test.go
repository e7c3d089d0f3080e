package storetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// fill makes a hub with rows of every kind.
func fill(t testing.TB, b *conformance.Harness) {
	t.Helper()
	ctx := t.Context()
	_, err := b.ChangePeople(ctx, &store.PeopleChange{People: store.People{
		Persons: []store.Person{
			{Name: "ada", Role: schema.Admin, Owner: true, Email: "ada@example.org", Subject: "https://id.example 1", CreatedAt: b.Clock.Now(), LastSeenAt: b.Clock.Now(), SignedIn: true},
			{Name: "grace", Role: schema.Operator, CreatedAt: b.Clock.Now(), ResetAt: b.Clock.Now(), ResetBy: "ada", PromotedAt: b.Clock.Now(), PromotedBy: "ada"},
		},
		SignIns:  []store.SignIn{{ID: "i1", Person: "ada", Method: "link", UserAgent: "b\xffrowser", Cookie: []byte{0, 1}, Key: []byte{2}, Confirmed: true, CreatedAt: b.Clock.Now(), LastSeenAt: b.Clock.Now()}},
		Tokens:   []store.Token{{ID: "t1", Name: "ci", Prefix: "hb_1", Person: "grace", Apps: []string{"shop", "web-*"}, Hash: []byte{0, 255}, CreatedAt: b.Clock.Now(), ExpiresAt: b.Clock.Now().Add(time.Hour)}},
		Codes:    []store.Code{{Hash: []byte{7}, Person: "grace", Method: "link", Confirmed: true, CreatedAt: b.Clock.Now(), ExpiresAt: b.Clock.Now().Add(time.Hour)}},
		Passkeys: []store.Passkey{{ID: "p1", Person: "ada", Name: "key", RPID: "hub.example", Credential: []byte{1}, PublicKey: []byte{2}, SignCount: 9, Flags: 5, Transports: []string{"usb"}, CreatedAt: b.Clock.Now()}},
		Locked:   true,
	}, SetLocked: true, LedgerRecords: []store.LedgerRecord{{Action: "hub.locked", Actor: "ada"}}})
	require.NoError(t, err)
	fillLog(t, b)
	fillPolicy(t, b)
	fillNotifications(t, b)
	fillProjections(t, b)
	require.NoError(t, b.SignLedgerHead(ctx))
}

func fillLog(t testing.TB, b *conformance.Harness) {
	t.Helper()
	ctx := t.Context()
	for i := range 1200 {
		d := conformance.NewDraft(fmt.Sprint("app", i%3), fmt.Sprint("session", i%40), "PreToolUse", []string{"Bash", "", "Edit"}[i%3])
		switch {
		case i == 7:
			d.App, d.Session, d.Payload = "a\x00pp", "s\xff", []byte("{\"text\":\"\\u0000 \xff \x00\"}")
		case i%100 == 0:
			d.IdempotencyKey, d.Transcript = fmt.Sprint("key", i), []byte(`[{"text":"zebra"}]`)
		case i == 600:
			b.Clock.Advance(time.Hour)
		}
		b.MustAppend(t, d)
	}
	ask := func(change func(*store.EventDraft)) schema.EventID {
		d := conformance.NewQuestionDraft("s", b.Clock.Now().Add(time.Hour))
		change(d)
		return b.MustAppend(t, d).ID
	}
	ask(func(d *store.EventDraft) {
		d.Status = []byte(`{"status":"pending","recipients":["ada","gr\u0000ace"],"awaiting":["ada","gr\u0000ace"]}`)
	})
	ask(func(d *store.EventDraft) { d.NewQuestion.Text, d.NewQuestion.Lifeline = "May\x00 I?", store.ByListener })
	for range 3 {
		ask(func(d *store.EventDraft) {
			d.NewQuestion.DuplicateKey, d.NewQuestion.Call = []byte("same"), []byte("call")
		})
	}
	ask(func(d *store.EventDraft) {
		d.NewQuestion.Timers = store.Timers{Remind: b.Clock.Now().Add(time.Minute), Escalate: b.Clock.Now().Add(2 * time.Minute)}
	})
	answered := ask(func(d *store.EventDraft) { d.NewQuestion.Call, d.NewQuestion.HasNonce = []byte("call"), true })
	q := b.MustQuestion(t, answered)
	change := conformance.AnswerChange(q)
	change.Receipt, change.Proofs = []byte(`{"payload":"e30="}`), []byte(`[{}]`)
	change.Ledger = []store.LedgerRecord{{Action: "question.answered", Actor: "ada", QuestionID: answered}}
	require.NoError(t, b.Apply(ctx, change))
	held := b.MustQuestion(t, ask(func(*store.EventDraft) {}))
	require.NoError(t, b.Apply(ctx, store.Change{
		Event: &held.Event, Version: held.Version, State: schema.Pending, Status: []byte(`{"status":"pending","revision":2}`),
		UndoWindow: &store.UndoWindow{Answer: []byte(`{"permission":true}`), Until: b.Clock.Now().Add(time.Minute)},
	}))
	appeal := ask(func(d *store.EventDraft) { d.NewQuestion.Appeal = []byte("digest") })
	q = b.MustQuestion(t, appeal)
	require.NoError(t, b.Apply(ctx, store.Change{
		Event: &q.Event, Version: q.Version, State: schema.Responded, Ends: true, Status: []byte(`{"status":"responded","outcome":"approve","revision":2}`), Answer: []byte(`{}`),
		Grant: &store.GrantChange{By: []string{"ada"}, GrantedAt: b.Clock.Now(), ExpiresAt: b.Clock.Now().Add(time.Hour)},
	}))
}

func fillPolicy(t testing.TB, b *conformance.Harness) {
	t.Helper()
	ctx, now := t.Context(), schema.Millis(b.Clock.Now().UnixMilli())
	for _, r := range []schema.Rule{
		{Then: schema.ThenAllow, Text: "Allow it", Tool: "Bash", CreatedBy: "ada", From: 1, CreatedAt: now, ExpiresAt: now + 3_600_000},
		{Then: schema.ThenAllow, Text: "All", Scope: schema.ScopeSession, SourceApp: "app1", SessionID: "session1", CreatedBy: "grace", CreatedAt: now, ExpiresAt: now + 3_600_000},
		{Then: schema.ThenDeny, Text: "No", Tool: "Edit", CreatedBy: "grace", CreatedAt: now},
	} {
		_, err := b.CreateRule(ctx, r)
		require.NoError(t, err)
	}
	_, err := b.RevokeRule(ctx, 3, "ada", b.Clock.Now())
	require.NoError(t, err)
	for i, text := range []string{"one", "two\x00", "three"} {
		_, _, err := b.CreateMessage(ctx, store.MessageDraft{
			MessageDraft: control.MessageDraft{SourceApp: "shop", SessionID: "s", Text: text}, From: "ada", SentAt: b.Clock.Now(), Key: []string{"k", "", ""}[i],
		})
		require.NoError(t, err)
	}
	_, err = b.WithdrawMessage(ctx, 1, "ada")
	require.NoError(t, err)
	for _, f := range []control.Freeze{
		{Scope: control.FreezeSession, SourceApp: "app2", SessionID: "session2", By: "ada", Reason: "look", CreatedAt: now},
		{Scope: control.FreezeSession, SourceApp: "app2", SessionID: "session5", Rule: control.RuleSpend, CostUSD: 1.25, CreatedAt: now},
	} {
		_, _, err := b.CreateFreeze(ctx, f)
		require.NoError(t, err)
	}
	_, err = b.LiftFreeze(ctx, 1, "ada", b.Clock.Now())
	require.NoError(t, err)
	require.NoError(t, b.SetDocument(ctx, store.SafetyLimits, control.SafetySettings{}, "ada"))
	require.NoError(t, b.SetDocument(ctx, store.RequestDefaults, control.RequestDefaults{}, "ada"))
	require.NoError(t, b.PutCoverage(ctx, []store.CoverageRow{{Host: "laptop", Account: "ada", Agent: "codex", Report: []byte(`{}`), ReportedAt: b.Clock.Now(), Proof: []byte(`{}`), ProvenAt: b.Clock.Now(), Requester: "ada"}}, b.Clock.Now()))
	require.NoError(t, b.SetDocument(ctx, store.PublicAddress, control.ReachSettings{PublicURL: "https://hub.example"}, "ada"))
	require.NoError(t, b.SetDocument(ctx, store.AlertRules, store.AlertSettings{Rules: []control.AlertRule{{ID: 1, Kind: control.AlertStuck, Minutes: 15}}, LastID: 1}, "ada"))
	for _, session := range []string{"s1", "s2"} {
		_, _, err := b.OpenAlert(ctx, control.Alert{Rule: 1, Kind: control.AlertStuck, SourceApp: "app", SessionID: session, Evidence: "No event.", OpenedAt: now})
		require.NoError(t, err)
	}
	require.NoError(t, b.CloseAlert(ctx, 1, now))
}

func fillNotifications(t testing.TB, b *conformance.Harness) {
	t.Helper()
	ctx := t.Context()
	for _, c := range []*store.Channel{
		{Name: "hook", Kind: "webhook", URL: "https://hooks.example/secret", Secret: "shared", CreatedBy: "ada", Filter: schema.ChannelFilter{Agents: []string{"claude*"}}},
		{Name: "chat", Kind: "telegram", URL: "telegram://token@telegram", Person: "grace", IsBrief: true, CreatedBy: "grace"},
	} {
		require.NoError(t, b.AddChannel(ctx, c, 9))
	}
	require.NoError(t, b.SetPushKeys(ctx, "private", "public"))
	require.NoError(t, b.AddPushSubscription(ctx, "ada", schema.PushSubscription{Endpoint: "https://push.example/1", Keys: schema.PushKeys{P256dh: "p", Auth: "a"}}, 9))
	pending, err := b.Pending(ctx)
	require.NoError(t, err)
	id := pending[0].ID
	require.NoError(t, b.AddNotifications(ctx, id, []store.Notification{
		{Question: id, Channel: 1, CreatedAt: b.Clock.Now(), Due: b.Clock.Now(), Notification: schema.Notification{Channel: "hook", Kind: "new", State: "queued"}},
		{Question: id, Channel: 2, CreatedAt: b.Clock.Now(), Due: b.Clock.Now(), Notification: schema.Notification{Channel: "chat", Person: "grace", Kind: "new", State: "queued"}},
	}, &store.NotificationProgress{Reminders: 2, Escalated: true}))
	require.NoError(t, b.SetNotificationCursor(ctx, 17))
	require.NoError(t, b.SetNotificationSettings(ctx, "ada", schema.NotificationSettings{}))
	require.NoError(t, b.UseLink(ctx, id, []byte("mac")))
	require.NoError(t, b.SetChatOffset(ctx, 2, 99))
	require.NoError(t, b.LinkChatAccount(ctx, store.ChatAccount{Kind: "telegram", Account: "1", Label: "@one", Person: "grace"}))
	require.NoError(t, b.AddChatMessage(ctx, store.ChatMessage{Channel: 2, Chat: "-100", Message: "5", Notice: 2, Question: id, Revision: 3}))
}

func fillProjections(t testing.TB, b *conformance.Harness) {
	t.Helper()
	ctx := t.Context()
	row := conformance.NewSessionRow("session0", 1, 41)
	row.Person, row.Project, row.Active = "ada", "/src/a", 77
	row.Transcript = &store.TranscriptText{Event: 1, Text: "zebra\n"}
	imported := conformance.NewSessionRow("session1", 2, 42)
	imported.App, imported.Imported = "app1", true
	b.MustProject(t, &store.ProjectionBatch{
		Sessions:  []store.SessionRow{row, imported},
		Activity:  map[store.ActivityKey]store.Activity{{Quarter: 100, App: "app"}: {Events: 3, CostUSD: 0.1, Tokens: history.Tokens{Input: 1 << 40}}},
		Decisions: map[store.Decision]int64{{Quarter: 100, App: "app", Outcome: "approved", Person: true, Bucket: 4}: 2},
		ToolTimes: map[store.ToolKey]store.ToolTime{{Session: 1, Quarter: 100, Tool: "Bash", Bucket: -1}: {Calls: 2, Failures: 1, TotalMS: 50}, {Session: 1, Quarter: 100, Tool: "Bash", Bucket: 3}: {Calls: 1}},
		Spend:     map[store.SpendKey]store.Spend{{Session: 1, Quarter: 100, Model: "opus"}: {CostUSD: 0.75, Tokens: history.Tokens{Output: 4}}},
	})
	key := store.CallKey{Quarter: 100, Decided: history.DecidedByAgent, Risk: schema.HighRisk, Outcome: history.CallOpen}
	b.MustRate(t, &store.RatingBatch{
		Calls:  []store.RatedCall{conformance.NewRatedCall(1, history.CallOpen), conformance.NewRatedCall(2, history.CallFailed)},
		Counts: map[store.CallKey]store.CallCount{key: {Calls: 2, Appealed: 1}},
	})
	require.NoError(t, b.CreateShare(ctx, store.Share{
		ID: "link", Session: store.SessionKey{App: "app", Session: "session0"}, Person: "ada", Hash: []byte{1}, Transcript: true, CreatedAt: b.Clock.Now(), ExpiresAt: b.Clock.Now().Add(time.Hour),
	}, store.LedgerRecord{Action: "share.made", Actor: "ada"}))
	require.NoError(t, b.RecordShareOpened(ctx, "link", b.Clock.Now(), store.LedgerRecord{Action: "share.opened", Actor: "ada"}))
}
