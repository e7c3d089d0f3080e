package tables

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// activeKey returns the order of a session in the lists: a key that grows with the time of the last
// activity, in Unix ms, and is unique by the lowest bits of its newest event.
func activeKey(at int64, last schema.EventID) int64 {
	return at<<activeShift | int64(last)&(1<<activeShift-1)
}

// activeSince returns the lowest activeKey of sessions that were active since a time.
func activeSince(t time.Time) int64 { return t.UnixMilli() << activeShift }

// activeShift leaves the keys of all times below 1<<53.
const activeShift = 11

// A search for sessions continues in the transcripts, newest first, after the last session whose text
// matches. firstTranscriptPosition is added to positions there, and positions of sessions are smaller.
const firstTranscriptPosition = 1 << 52

// positionBefore returns the position of a search that continues before an event with a transcript.
func positionBefore(event int64) int64 { return firstTranscriptPosition + event }

// transcriptPosition returns the event before which a search continues in the transcripts.
func transcriptPosition(before int64) (event int64, ok bool) {
	return before - firstTranscriptPosition, before >= firstTranscriptPosition && before < 2*firstTranscriptPosition
}

// transcriptSearchTime limits a search in the transcripts. The transcript in progress is finished.
const transcriptSearchTime = 40 * time.Millisecond

// sessionTexts holds the texts of the newest sessions, because reading one from its row in
// the table takes longer than comparing thirty. A text changes only with a new event of the
// session, so the sessions to read again are those after the newest one in memory.
type sessionTexts struct {
	mu       sync.Mutex
	Limit    int                    // of entries that are not outdated
	entries  []sessionText          // by last; an outdated one has no text
	outdated int                    // number of outdated entries
	byFirst  map[schema.EventID]int // index in entries by the session's first event
	oldest   schema.EventID         // older sessions are only in the table; 0: there are none
}

// sessionText is the text of one session.
type sessionText struct {
	First, Last schema.EventID
	App, Person unique.Handle[string]
	Text        string
}

// maxSessionTexts bounds the memory of sessionTexts to about 15 MB.
const maxSessionTexts = 50_000

// Update adds the sessions that were active since the last update. read returns those whose newest
// event is after the given one, the latest first. Update returns oldest.
func (c *sessionTexts) Update(read func(after schema.EventID, limit int) ([]sessionText, error)) (schema.EventID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	newest := schema.EventID(0)
	if len(c.entries) > 0 {
		newest = c.entries[len(c.entries)-1].Last
	}
	active, err := read(newest, c.Limit)
	if err != nil {
		return 0, err
	}
	if len(active) == c.Limit { // there may be more that are not in memory
		c.entries, c.outdated, c.byFirst = nil, 0, nil
		c.oldest = active[len(active)-1].Last
	}
	if c.byFirst == nil {
		c.byFirst = make(map[schema.EventID]int, len(active))
	}
	for _, e := range slices.Backward(active) {
		if i, ok := c.byFirst[e.First]; ok {
			c.removeLocked(i)
		}
		c.byFirst[e.First] = len(c.entries)
		c.entries = append(c.entries, e)
	}
	if len(c.entries) > 2*c.Limit || c.outdated > len(c.entries)/2 {
		c.compactLocked()
	}
	return c.oldest, nil
}

func (c *sessionTexts) removeLocked(i int) {
	if c.entries[i].Text != "" {
		delete(c.byFirst, c.entries[i].First)
		c.entries[i].Text = ""
		c.outdated++
	}
}

// compactLocked removes the outdated entries, and the oldest ones beyond limit.
func (c *sessionTexts) compactLocked() {
	c.entries = slices.DeleteFunc(c.entries, func(e sessionText) bool { return e.Text == "" })
	if more := len(c.entries) - c.Limit; more > 0 {
		c.entries = slices.Clone(c.entries[more:])
		c.oldest = c.entries[0].Last
	}
	c.outdated = 0
	clear(c.byFirst)
	for i := range c.entries {
		c.byFirst[c.entries[i].First] = i
	}
}

// Remove removes the session whose newest event was last.
func (c *sessionTexts) Remove(last schema.EventID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i, ok := c.search(last); ok {
		c.removeLocked(i)
	}
}

// search returns the index of the entry with that newest event, or where it would be.
func (c *sessionTexts) search(last schema.EventID) (int, bool) {
	return slices.BinarySearchFunc(c.entries, last, func(e sessionText, last schema.EventID) int { return cmp.Compare(e.Last, last) })
}

// Find returns the newest events of the sessions that f selects, latest first.
func (c *sessionTexts) Find(f store.SessionFilter) (found []schema.EventID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	app, person := unique.Make(f.App), unique.Make(f.Person)
	before, _ := c.search(schema.EventID(f.Before))
	for _, e := range slices.Backward(c.entries[:before]) {
		if len(found) == f.Limit {
			break
		}
		if (f.App == "" || e.App == app) && (f.Person == "" || e.Person == person) && e.Text != "" && strings.Contains(e.Text, f.Text) {
			found = append(found, e.Last)
		}
	}
	return found
}
