package sign

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hookback/hookback/schema"
)

// LedgerEntry is one record of the audit log: a vote, a resolution, a rule, a sign-in, or a change
// of people or settings. Entries are numbered without gaps and form a hash chain: each contains the
// hash of the previous one. Changing, removing or inserting an entry invalidates every later hash.
type LedgerEntry struct {
	N          int64           `json:"n"`
	At         schema.Millis   `json:"at"`           // by the hub's clock
	Action     string          `json:"act"`          // such as question.voted, question.ended, rule.made, person.signed_in
	Actor      string          `json:"who"`          // a person, an agent's token, a rule or the hub
	QuestionID schema.EventID  `json:"of,omitempty"` // id of the question
	Data       json.RawMessage `json:"data,omitempty" jsonschema:"type=object"`
	Prev       string          `json:"prev"` // Hash of entry N-1 in hex; 64 zeros for the first
	// Hash is hex(SHA-256(JSON)) of the entry without hash: members in the order n, at, act, who,
	// of, data, prev, without white space, data verbatim. That is the entry's line in the export
	// with the member hash removed.
	Hash string `json:"hash"`
}

// FirstPrev is Prev of the first entry.
var FirstPrev = strings.Repeat("0", 2*sha256.Size)

// Seal appends e to the chain after entry n with hash prev: it sets N, Prev and Hash.
func (e *LedgerEntry) Seal(n int64, prev string) (err error) {
	e.N, e.Prev = n+1, prev
	e.Hash, err = e.computeHash()
	return err
}

// computeHash returns the hash that the entry must have.
func (e *LedgerEntry) computeHash() (string, error) {
	line, err := json.Marshal(struct {
		LedgerEntry
		Hash string `json:"hash,omitempty"` // hides the entry's own hash
	}{LedgerEntry: *e})
	if err != nil {
		return "", fmt.Errorf("encode ledger entry: %w", err)
	}
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:]), nil
}

// LedgerCheck verifies the entries of a ledger in order and finds the first one that breaks the
// hash chain. The zero value is ready to use.
type LedgerCheck struct {
	N    int64  // number of the last valid entry
	Head string // its Hash; compare a stored copy to detect a truncated ledger
}

// Next verifies the next entry, given as a line of the export exactly as the hub wrote it. The
// error names the defect.
func (c *LedgerCheck) Next(line []byte) error {
	if c.N == 0 {
		c.Head = FirstPrev
	}
	var e LedgerEntry
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("entry %d is not readable: %w", c.N+1, err)
	}
	// Another parser could read a different encoding differently, for example take the first of two
	// members with the same name.
	written, err := json.Marshal(e)
	sum, errSum := e.computeHash()
	switch {
	case err != nil || errSum != nil || !bytes.Equal(written, bytes.TrimSpace(line)):
		return fmt.Errorf("entry %d is not in the canonical encoding of the hub", c.N+1)
	case e.N != c.N+1:
		return fmt.Errorf("entry %d is missing: found number %d in its place", c.N+1, e.N)
	case e.Prev != c.Head:
		return fmt.Errorf("entry %d does not continue entry %d: one of them was replaced", e.N, c.N)
	case e.Hash != sum:
		return fmt.Errorf("entry %d was changed: its hash does not match its content", e.N)
	}
	c.N, c.Head = e.N, e.Hash
	return nil
}
