package hub

import (
	"context"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/question"
)

// accounts presents the accounts to package question. The service may be nil: a hub without
// accounts, where everyone may answer.
type accounts struct{ *auth.Service }

// Access implements question.Accounts.
func (a accounts) Access() question.Access {
	return question.Access{
		HasOwner: a.HasOwner(), IsLocked: a.IsLocked(), AllowsAnonymous: a.Check(schema.AccessDecide, auth.Identity{}) == nil,
		PasskeyThreshold: a.PasskeyThreshold(),
	}
}

// Account implements question.Accounts.
func (a accounts) Account(name string) (account question.Account) {
	if a.Service == nil {
		return question.Account{CanAnswer: true}
	}
	identity, known := a.IdentityOf(name, "vote")
	account.CreatedAt, _ = a.CreatedAt(name)
	account.ResetAt = a.ResetAt(name)
	account.CanAnswer = known && a.Check(schema.AccessDecide, identity) == nil
	return account
}

// approvers returns the names of all accounts that may answer.
func (a accounts) approvers() (names []string) {
	for _, p := range a.Accounts(context.Background()) {
		if p.Role == schema.Operator || p.Role == schema.Admin {
			names = append(names, p.Name)
		}
	}
	return names
}
