package notify

import (
	"context"
	"slices"

	"github.com/hookback/hookback/schema"
)

// NewChatCode returns a code with which a person links a chat account, once.
func (n *Notifier) NewChatCode(person string) schema.ChatCode {
	code, expires := n.codes.New(person, n.Clock())
	return schema.ChatCode{Code: code, ExpiresAt: schema.Millis(expires.UnixMilli()), Bots: n.botNames()}
}

// botNames returns the user names of the bots that take answers, sorted.
func (n *Notifier) botNames() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	names := []string{}
	for _, w := range n.workers {
		if w.bot != nil && w.bot.Stopped() == "" && w.bot.Name() != "" {
			names = append(names, w.bot.Name())
		}
	}
	slices.Sort(names)
	return names
}

// ChatAccounts returns the chat accounts of a person, and the bots of the hub.
func (n *Notifier) ChatAccounts(ctx context.Context, person string) (schema.ChatAccounts, error) {
	stored, err := n.Store.ChatAccounts(ctx, person)
	if err != nil {
		return schema.ChatAccounts{}, err
	}
	out := schema.ChatAccounts{Accounts: []schema.ChatAccount{}, Bots: n.botNames()}
	since, _ := n.Accounts.CreatedAt(person)
	for _, a := range stored {
		if !a.LinkedAt.Before(since) { // else it is of an earlier account of the same name
			out.Accounts = append(out.Accounts, schema.ChatAccount{Kind: a.Kind, Account: a.Account, Label: a.Label, LinkedAt: schema.Millis(a.LinkedAt.UnixMilli())})
		}
	}
	return out, nil
}
