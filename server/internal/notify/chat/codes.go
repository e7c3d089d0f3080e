package chat

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// codeLifetime is how long a code links an account.
	codeLifetime = 10 * time.Minute
	// maxCodes limits the codes of all people together; the oldest is dropped.
	maxCodes = 1000
)

// Codes are the one-time codes with which signed-in people link their chat accounts. They end with
// the process. The zero value has none; its methods are safe for concurrent use.
type Codes struct {
	mu    sync.Mutex
	codes []code // oldest first
}

type code struct {
	hash   [sha256.Size]byte
	person string
	madeAt time.Time
}

// New returns a code for a person, and when it expires. It replaces the person's previous code.
func (c *Codes) New(person string, now time.Time) (text string, expires time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.codes[:0]
	for _, old := range c.codes {
		if old.person != person && now.Before(old.madeAt.Add(codeLifetime)) {
			kept = append(kept, old)
		}
	}
	if len(kept) == maxCodes {
		kept = kept[1:]
	}
	text = rand.Text()
	c.codes = append(kept, code{sha256.Sum256([]byte(text)), person, now})
	return text, now.Add(codeLifetime)
}

// take returns the person of a code, and when they made it, and drops the code. ok is false if there
// is none or it has expired.
func (c *Codes) take(text string, now time.Time) (person string, madeAt time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hash := sha256.Sum256([]byte(text))
	for i, found := range c.codes {
		if found.hash == hash {
			c.codes = append(c.codes[:i], c.codes[i+1:]...)
			return found.person, found.madeAt, now.Before(found.madeAt.Add(codeLifetime))
		}
	}
	return "", madeAt, false
}
