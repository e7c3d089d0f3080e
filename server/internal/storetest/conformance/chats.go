package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func (s suite) TestChats_LinkAccounts(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	ctx := t.Context()
	_, err := b.ChatAccount(ctx, "telegram", "1")
	require.ErrorIs(t, err, schema.ErrNotFound)
	for _, person := range []string{"ada", "grace"} { // the second replaces the first
		require.NoError(t, b.LinkChatAccount(ctx, store.ChatAccount{Kind: "telegram", Account: "1", Label: "@one", Person: person}))
	}
	b.Reopen(t)
	got, err := b.ChatAccount(ctx, "telegram", "1")
	require.NoError(t, err)
	require.Equal(t, ClockStart.UnixMilli(), got.LinkedAt.UnixMilli())
	got.LinkedAt = time.Time{}
	require.Equal(t, store.ChatAccount{Kind: "telegram", Account: "1", Label: "@one", Person: "grace"}, got)
	_, err = b.ChatAccount(ctx, "slack", "1")
	require.ErrorIs(t, err, schema.ErrNotFound, "another service")

	require.ErrorIs(t, b.UnlinkChatAccount(ctx, "telegram", "1", "ada"), schema.ErrNotFound, "another person")
	list, err := b.ChatAccounts(ctx, "grace")
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.NoError(t, b.UnlinkChatAccount(ctx, "telegram", "1", "grace"))
	list, err = b.ChatAccounts(ctx, "grace")
	require.NoError(t, err)
	require.Empty(t, list)
	entries, err := b.Ledger(ctx, store.LedgerPage{Limit: 9})
	require.NoError(t, err)
	require.Len(t, entries, 3)
}

func (s suite) TestChats_MessagesOfSettledQuestions(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	ctx := t.Context()
	c := &store.Channel{Name: "c", Kind: "telegram", URL: "u", CreatedBy: "ada", IsBrief: true}
	require.NoError(t, b.AddChannel(ctx, c, 9))
	stored, err := b.Channels(ctx)
	require.NoError(t, err)
	require.True(t, stored[0].IsBrief)
	filter := schema.ChannelFilter{Risk: schema.HighRisk, Owners: []string{"@ops"}}
	require.NoError(t, b.SetChannelFilter(ctx, c.ID, filter, "ada"))
	require.ErrorIs(t, b.SetChannelFilter(ctx, c.ID+1, filter, "ada"), schema.ErrNotFound)
	stored, err = b.Channels(ctx)
	require.NoError(t, err)
	require.Equal(t, filter, stored[0].Filter)
	open := b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID
	answered := b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID
	for i, id := range []schema.EventID{open, answered} {
		m := store.ChatMessage{Channel: c.ID, Chat: "-100", Message: []string{"1", "2"}[i], Notice: 5, Question: id, Revision: 3}
		require.NoError(t, b.AddChatMessage(ctx, m))
		require.NoError(t, b.AddChatMessage(ctx, m), "a repetition changes nothing")
		got, err := b.ChatMessage(ctx, c.ID, m.Chat, m.Message)
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
	list, err := b.MessagesToSettle(ctx, c.ID, 9)
	require.NoError(t, err)
	require.Empty(t, list)
	b.Answer(t, answered)
	b.Reopen(t)
	list, err = b.MessagesToSettle(ctx, c.ID, 9)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, answered, list[0].Question)
	other, err := b.MessagesToSettle(ctx, c.ID+1, 9)
	require.NoError(t, err)
	require.Empty(t, other, "another channel")
	require.NoError(t, b.SettleChatMessage(ctx, list[0]))
	list, err = b.MessagesToSettle(ctx, c.ID, 9)
	require.NoError(t, err)
	require.Empty(t, list)

	require.NoError(t, b.SetChatOffset(ctx, c.ID, 10))
	require.NoError(t, b.SetChatOffset(ctx, c.ID, 11))
	offset, err := b.ChatOffset(ctx, c.ID)
	require.NoError(t, err)
	require.EqualValues(t, 11, offset)
	_, err = b.RemoveChannel(ctx, c.ID, "ada")
	require.NoError(t, err)
	offset, err = b.ChatOffset(ctx, c.ID)
	require.NoError(t, err)
	require.Zero(t, offset)
	_, err = b.ChatMessage(ctx, c.ID, "-100", "1")
	require.ErrorIs(t, err, schema.ErrNotFound, "removed with its channel")
}
