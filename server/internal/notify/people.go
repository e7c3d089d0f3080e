package notify

import (
	"context"
	"slices"

	"github.com/hookback/hookback/schema"
)

// WithChats adds the kinds of chat accounts of the people whose contacts the caller may see.
// Without a notifier it returns the people unchanged.
func (n *Notifier) WithChats(ctx context.Context, people []schema.Person, seesContactsOf func(name string) bool) ([]schema.Person, error) {
	for i := range people {
		if n == nil || !seesContactsOf(people[i].Name) {
			continue
		}
		linked, err := n.ChatAccounts(ctx, people[i].Name)
		if err != nil {
			return nil, err
		}
		for _, account := range linked.Accounts {
			people[i].Chats = append(people[i].Chats, account.Kind)
		}
		people[i].Chats = slices.Compact(people[i].Chats) // the accounts are sorted by kind
	}
	return people, nil
}
