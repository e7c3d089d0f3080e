package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// LedgerEntry is one act that decided something: a vote, an end, a rule, a sign-in, a
// change of people or settings. Entries are numbered without holes and each holds the
// hash of the one before it, so that none can be changed, taken out or put in between
// without every later hash being wrong.
type LedgerEntry struct {
	N          int64           `json:"n"`
	At         Millis          `json:"at"`           // the hub's clock
	Action     string          `json:"act"`          // such as question.voted, question.ended, rule.made, person.signed_in
	Actor      string          `json:"who"`          // a person, an agent's token, a rule, or the hub
	QuestionID EventID         `json:"of,omitempty"` // the question
	Data       json.RawMessage `json:"data,omitempty" jsonschema:"type=object"`
	Prev       string          `json:"prev"` // Hash of entry N-1, hex; 64 zeros for the first
	// Hash is hex(SHA-256(the entry's JSON without hash, members in the order n, at, act,
	// who, of, data, prev, no white space, data as it stands)): of the entry's line in
	// the export without the member hash.
	Hash string `json:"hash"`
}

// FirstPrev is Prev of the first entry.
var FirstPrev = strings.Repeat("0", 2*sha256.Size)

// Seal makes e the entry behind the one with number n and hash prev.
func (e *LedgerEntry) Seal(n int64, prev string) (err error) {
	e.N, e.Prev = n+1, prev
	e.Hash, err = e.computeHash()
	return err
}

// computeHash is what Hash has to be.
func (e *LedgerEntry) computeHash() (string, error) {
	line, err := json.Marshal(struct {
		LedgerEntry
		Hash string `json:"hash,omitempty"` // shadows the entry's own
	}{LedgerEntry: *e})
	if err != nil {
		return "", fmt.Errorf("encoding an entry of the ledger: %w", err)
	}
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:]), nil
}

// LedgerCheck reads a ledger's entries one after another, from the first on, and
// finds the one that breaks the chain. The zero value has read none.
type LedgerCheck struct {
	N    int64  // of the last entry that was right
	Head string // its Hash; whoever keeps it can tell later whether the end was cut off
}

// Next takes the next entry, as a line of the export: its JSON exactly as the hub
// wrote it. The error says what is wrong with it.
func (c *LedgerCheck) Next(line []byte) error {
	if c.N == 0 {
		c.Head = FirstPrev
	}
	var e LedgerEntry
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("entry %d is not readable: %w", c.N+1, err)
	}
	// What is written differently may say something else to another reader, such as
	// the first of two members with the same name.
	written, err := json.Marshal(e)
	sum, errSum := e.computeHash()
	switch {
	case err != nil || errSum != nil || !bytes.Equal(written, bytes.TrimSpace(line)):
		return fmt.Errorf("entry %d is not written as a hub writes it", c.N+1)
	case e.N != c.N+1:
		return fmt.Errorf("entry %d is missing: number %d stands in its place", c.N+1, e.N)
	case e.Prev != c.Head:
		return fmt.Errorf("entry %d does not continue entry %d: one of them was replaced", e.N, c.N)
	case e.Hash != sum:
		return fmt.Errorf("entry %d was changed: its hash is not that of what it says", e.N)
	}
	c.N, c.Head = e.N, e.Hash
	return nil
}

// PathLedger is the ledger of everything that people decided.
const PathLedger = "/api/ledger"

var ledgerRoutes = []Route{
	{"GET", PathLedger, "What was decided, when and by whom, oldest first: entries that each hold the hash of the one before (see LedgerEntry); hookback verify checks them", []Param{
		{"after", "only entries above this number, from the oldest on; 0 begins at the beginning"},
		{"before", "only entries below this number"},
		{"of", "only those of this question"},
		{"limit", "1 to 1000, 100 unless told; of the newest, unless after is given"},
		{"format", "ndjson: a download, one entry per line, of everything behind after"},
	}, nil, []LedgerEntry{}},
}
