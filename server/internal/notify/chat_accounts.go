package notify

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
)

// NewChatCode returns a code with which a person links a chat account, once.
func (n *Notifier) NewChatCode(ctx context.Context, person string) (schema.ChatCode, error) {
	code, expires, err := n.codes.New(ctx, person, n.Clock())
	return schema.ChatCode{Code: code, ExpiresAt: schema.Millis(expires.UnixMilli()), Bots: n.bots()}, err
}

// bots returns the bots that take answers, sorted.
func (n *Notifier) bots() []schema.ChatBot {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := []schema.ChatBot{}
	for _, w := range n.workers {
		if w.bot != nil && w.bot.Stopped() == "" && w.bot.Name() != "" {
			list = append(list, schema.ChatBot{Kind: w.bot.Kind(), Name: w.bot.Name()})
		}
	}
	slices.SortFunc(list, func(a, b schema.ChatBot) int {
		return cmp.Or(strings.Compare(b.Kind, a.Kind), strings.Compare(a.Name, b.Name))
	})
	return list
}

// ChatAccounts returns the chat accounts of a person, and the bots of the hub.
func (n *Notifier) ChatAccounts(ctx context.Context, person string) (schema.ChatAccounts, error) {
	stored, err := n.Store.ChatAccounts(ctx, person)
	if err != nil {
		return schema.ChatAccounts{}, err
	}
	out := schema.ChatAccounts{Accounts: []schema.ChatAccount{}, Bots: n.bots()}
	since, _ := n.Accounts.CreatedAt(person)
	for _, a := range stored {
		if !a.LinkedAt.Before(since) { // else it is of an earlier account of the same name
			out.Accounts = append(out.Accounts, schema.ChatAccount{
				Kind: a.Kind, Account: a.Account, Label: a.Label, LinkedAt: schema.Millis(a.LinkedAt.UnixMilli()),
			})
		}
	}
	return out, nil
}

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
