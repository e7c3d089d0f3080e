package chat

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/hookback/hookback/server/internal/flows"
)

// codeLifetime is how long a code links an account.
const codeLifetime = 10 * time.Minute

// Codes are the one-time codes with which signed-in people link their chat accounts. A bot takes the
// codes of all hubs.
type Codes struct{ flows.Flows }

// code is the state of a code.
type code struct {
	Person string
	MadeAt time.Time
}

// codes has one code per person.
var codes = flows.Kind{Name: "chat code", Limit: 1}

// New returns a code for a person, and when it expires. It replaces the person's previous code.
func (c *Codes) New(ctx context.Context, person string, now time.Time) (text string, expires time.Time, err error) {
	text, expires = rand.Text(), now.Add(codeLifetime)
	return text, expires, c.Put(ctx, flows.Key{Kind: codes, Owner: person, Secret: text}, code{person, now}, expires)
}
