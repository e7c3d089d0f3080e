package conformance

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

var messageSession = store.SessionKey{App: "shop", Session: "s"}

func (b *Harness) sendMessage(t testing.TB, text, key string) control.Message {
	t.Helper()
	m, _, err := b.CreateMessage(t.Context(), store.MessageDraft{
		MessageDraft: control.MessageDraft{SourceApp: messageSession.App, SessionID: messageSession.Session, Text: text}, From: "ada", SentAt: b.Clock.Now(), Key: key,
	})
	require.NoError(t, err)
	return m
}

// step appends an event of messageSession whose hook takes messages, and returns their texts.
func (b *Harness) step(t testing.TB, change func(*store.EventDraft)) (id schema.EventID, texts []string) {
	t.Helper()
	d := &store.EventDraft{
		Event:     store.Event{UID: uuid.NewString(), App: messageSession.App, Session: messageSession.Session, Type: "PreToolUse", Payload: []byte("{}")},
		Directive: &store.DirectiveRequest{Accepts: control.Accepts{Message: true}},
		Messages:  &store.MessageStep{ActedOn: true},
	}
	if change != nil {
		change(d)
	}
	r, err := b.Append(t.Context(), d)
	require.NoError(t, err)
	if r.Directive != nil {
		for _, m := range r.Directive.Messages {
			require.Equal(t, "ada", m.From)
			texts = append(texts, m.Text)
		}
	}
	return r.Event.ID, texts
}

// messageStates returns "text state" of the messages to messageSession, oldest first.
func (b *Harness) messageStates(t testing.TB) (states []string) {
	t.Helper()
	list, err := b.Messages(t.Context(), messageSession, 50)
	require.NoError(t, err)
	for _, m := range list {
		states = append(states, m.Text+" "+string(m.State))
	}
	return states
}

func (s suite) TestMessages_AreHandedOverOnceInOrder(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	_, texts := b.step(t, nil)
	require.Empty(t, texts)
	require.False(t, b.HasMessages(messageSession))
	for i := range control.MaxHandedOver + 1 {
		b.sendMessage(t, "m"+strconv.Itoa(i), "")
	}
	require.True(t, b.HasWaitingMessages(messageSession))

	_, texts = b.step(t, func(d *store.EventDraft) { d.Directive.AgentID = "sub" })
	require.Empty(t, texts, "they are for the main agent")
	_, texts = b.step(t, func(d *store.EventDraft) { d.Directive.Message = false })
	require.Empty(t, texts, "this hook takes none")
	b.Reopen(t)
	repeated := func(d *store.EventDraft) { d.IdempotencyKey = "call 1" }
	id, texts := b.step(t, repeated)
	require.Equal(t, []string{"m0", "m1", "m2", "m3", "m4"}, texts)
	again, texts := b.step(t, repeated)
	require.Equal(t, id, again)
	require.Equal(t, []string{"m0", "m1", "m2", "m3", "m4"}, texts, "the response to the first POST was lost")
	require.Equal(t, "m0 handed_over", b.messageStates(t)[0])

	_, texts = b.step(t, func(d *store.EventDraft) { d.Messages.ActedOn = false })
	require.Equal(t, []string{"m5"}, texts)
	require.Equal(t, "m0 handed_over", b.messageStates(t)[0], "the agent has not read it")
	require.False(t, b.HasWaitingMessages(messageSession))
	_, texts = b.step(t, nil)
	require.Empty(t, texts)
	require.Equal(t, []string{"m0 acted_on", "m1 acted_on", "m2 acted_on", "m3 acted_on", "m4 acted_on", "m5 acted_on"}, b.messageStates(t))
	require.False(t, b.HasMessages(messageSession))
	list, err := b.Messages(t.Context(), messageSession, 1)
	require.NoError(t, err)
	require.Equal(t, "m5", list[0].Text, "the newest")
	require.NotZero(t, list[0].Event)
}

func (s suite) TestMessages_LongTextsAreHandedOverInParts(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	long := make([]byte, control.MaxPromptUnits/2)
	for i := range long {
		long[i] = 'x'
	}
	for range 3 {
		b.sendMessage(t, string(long), "")
	}
	for range 3 {
		_, texts := b.step(t, nil)
		require.Len(t, texts, 1)
	}
}

func (s suite) TestMessages_KeyIsUsedOnce(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	first := b.sendMessage(t, "a", "k")
	require.Equal(t, first, b.sendMessage(t, "a", "k"))
	_, _, err := b.CreateMessage(t.Context(), store.MessageDraft{
		MessageDraft: control.MessageDraft{SourceApp: "shop", SessionID: "s", Text: "b"}, From: "ada", Key: "k",
	})
	require.ErrorIs(t, err, schema.ErrKeyConflict)
	_, isNew, err := b.CreateMessage(t.Context(), store.MessageDraft{
		MessageDraft: control.MessageDraft{SourceApp: "shop", SessionID: "s", Text: "b"}, From: "bob", Key: "k",
	})
	require.NoError(t, err)
	require.True(t, isNew, "another person's key")
}

func (s suite) TestMessages_WaitingOnesAreLimited(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	for range control.MaxWaitingMessages {
		b.sendMessage(t, "m", "")
	}
	_, _, err := b.CreateMessage(t.Context(), store.MessageDraft{MessageDraft: control.MessageDraft{SourceApp: "shop", SessionID: "s", Text: "m"}, From: "ada"})
	require.ErrorIs(t, err, store.ErrManyWaiting)
	b.step(t, nil)
	b.sendMessage(t, "m", "")
}

func (s suite) TestMessages_EndWithSession(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	withdrawn := b.sendMessage(t, "a", "")
	m, err := b.WithdrawMessage(t.Context(), withdrawn.ID, "bob")
	require.NoError(t, err)
	require.Equal(t, control.MessageWithdrawn, m.State)
	_, err = b.WithdrawMessage(t.Context(), withdrawn.ID, "bob")
	require.ErrorIs(t, err, schema.ErrHandedOver)
	_, err = b.WithdrawMessage(t.Context(), 99, "bob")
	require.ErrorIs(t, err, schema.ErrNotFound)

	b.sendMessage(t, "b", "")
	b.step(t, func(d *store.EventDraft) {
		d.Type, d.Directive, d.Messages = "SessionEnd", nil, &store.MessageStep{Ended: true}
	})
	b.sendMessage(t, "c", "")
	require.NoError(t, b.EndMessages(t.Context(), messageSession))
	_, texts := b.step(t, nil)
	require.Empty(t, texts)
	require.Equal(t, []string{"a withdrawn", "b expired", "c expired"}, b.messageStates(t))

	entries, err := b.Ledger(t.Context(), store.LedgerPage{Limit: 9, Oldest: true})
	require.NoError(t, err)
	require.Len(t, entries, 6)
	require.NotContains(t, string(entries[0]), `"text"`)
}

// The sender's permission is checked when the message would be handed over.
func (s suite) TestMessages_OfRevokedSenderAreWithdrawn(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	b.sendMessage(t, "a", "")
	_, texts := b.step(t, func(d *store.EventDraft) {
		d.Directive.CanSend = func(from string, sentAt schema.Millis) bool {
			require.Equal(t, schema.Millis(b.Clock.Now().UnixMilli()), sentAt)
			return from != "ada"
		}
	})
	require.Empty(t, texts)
	require.Equal(t, []string{"a withdrawn"}, b.messageStates(t))
	require.False(t, b.HasMessages(messageSession))
}

// The newest message stays, so that no id is used twice.
func (s suite) TestMessages_RetentionRemovesOldOnes(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	b.sendMessage(t, "acted on", "")
	b.step(t, nil)
	b.step(t, nil)
	b.sendMessage(t, "handed over", "")
	b.step(t, nil)
	b.sendMessage(t, "saved", "")
	cancelled := b.sendMessage(t, "withdrawn", "")
	_, err := b.WithdrawMessage(t.Context(), cancelled.ID, "ada")
	require.NoError(t, err)
	newest := b.sendMessage(t, "newest", "")
	_, err = b.WithdrawMessage(t.Context(), newest.ID, "ada")
	require.NoError(t, err)
	prune := func() {
		_, err := b.Prune(t.Context(), store.RetentionPolicy{EventsBefore: b.Clock.Now(), Batch: 1})
		require.NoError(t, err)
	}
	prune()
	require.Len(t, b.messageStates(t), 5, "none is old enough")
	b.Clock.Advance(time.Hour)
	prune()
	require.Equal(t, []string{"saved saved", "newest withdrawn"}, b.messageStates(t))
	require.True(t, b.HasMessages(messageSession))
	_, texts := b.step(t, nil)
	require.Equal(t, []string{"saved"}, texts)
	require.Equal(t, newest.ID+1, b.sendMessage(t, "next", "").ID)
	b.Clock.Advance(time.Hour)
	b.step(t, nil)
	b.step(t, nil)
	require.False(t, b.HasMessages(messageSession), "the counts are right")
}
