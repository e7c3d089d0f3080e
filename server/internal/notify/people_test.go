package notify

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func TestNotifier_WithChats(t *testing.T) {
	t.Parallel()
	h := newHarness(t, schema.Person{Name: "ada"}, schema.Person{Name: "grace"})
	for _, account := range []store.ChatAccount{
		{Kind: "telegram", Account: "1", Label: "@ada", Person: "ada"},
		{Kind: "telegram", Account: "2", Label: "@ada2", Person: "ada"},
		{Kind: "telegram", Account: "3", Label: "@grace", Person: "grace"},
	} {
		require.NoError(t, h.Store.LinkChatAccount(t.Context(), account))
	}
	seesAda := func(name string) bool { return name == "ada" }
	people, err := h.WithChats(t.Context(), h.accounts(), seesAda)
	require.NoError(t, err)
	require.Equal(t, []schema.Person{{Name: "ada", Chats: []string{"telegram"}}, {Name: "grace"}}, people)

	people, err = (*Notifier)(nil).WithChats(t.Context(), h.accounts(), seesAda)
	require.NoError(t, err)
	require.Equal(t, h.accounts(), people, "a hub without a notifier")
}
