package tables

import (
	"slices"
	"sync"

	"github.com/hookback/hookback/server/internal/store"
)

const (
	// The log tail has at most tailRows rows and tailBytes bytes, enough for a second of a flood.
	tailRows  = 8192
	tailBytes = 12 << 20
	// maxTailEntry is the size above which an entry is read from the database: events with a
	// transcript or a big payload are rare, and a few of them would displace all others.
	maxTailEntry = 64 << 10
)

// logTail holds the newest rows of the log in memory for the projector, the indexer and the reader
// of the ratings, so that they do not read and decode again the rows just written. Rows leave when all have read
// them, and the oldest ones when the tail is full.
type logTail struct {
	mu    sync.Mutex
	first int64     // seq of rows[0]
	rows  []tailRow // consecutive seqs
	bytes int
	read  [store.TraceReader]int64 // newest row that each reader has finished
}

// tailRow is a row of the tail.
type tailRow struct {
	entry store.LogEntry // without an event: the row is no input of the projections
	isBig bool           // the entry is only in the database
	bytes int
}

// Append adds committed rows, and removes rows up to pruned. Their bytes belong to the posters, so
// it copies them.
func (l *logTail) Append(rows []store.LogRow, pruned int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range rows {
		row := &rows[i]
		if next := l.first + int64(len(l.rows)); row.Seq != next {
			l.first, l.rows, l.bytes = row.Seq, l.rows[:0], 0
		}
		added := newTailRow(row)
		l.rows = append(l.rows, added)
		l.bytes += added.bytes
	}
	l.trim(pruned)
}

func newTailRow(row *store.LogRow) tailRow {
	e := row.Event
	size := len(e.Envelope) + len(e.Payload) + len(e.Question) + len(e.Status)
	switch {
	case row.Change && !row.Ends:
		return tailRow{entry: store.LogEntry{Seq: row.Seq}}
	case row.HasTranscript || size > maxTailEntry:
		return tailRow{entry: store.LogEntry{Seq: row.Seq}, isBig: true}
	}
	own := *e
	buffer := make([]byte, 0, size)
	for _, b := range []*[]byte{&own.Envelope, &own.Payload, &own.Question, &own.Status} {
		if *b != nil {
			start := len(buffer)
			buffer = append(buffer, *b...)
			*b = buffer[start:len(buffer):len(buffer)]
		}
	}
	return tailRow{entry: store.LogEntry{Seq: row.Seq, Event: &own, Ends: row.Ends}, bytes: size}
}

// trim removes the rows that no reader needs, and those above the limits.
func (l *logTail) trim(pruned int64) {
	done := max(pruned, slices.Min(l.read[:]))
	n := 0
	for n < len(l.rows) && (l.first+int64(n) <= done || len(l.rows)-n > tailRows || l.bytes > tailBytes) {
		l.bytes -= l.rows[n].bytes
		l.rows[n] = tailRow{}
		n++
	}
	l.first, l.rows = l.first+int64(n), l.rows[n:]
}

// Entries returns the entries after seq, which the reader has finished, up to limit rows. upTo is
// the position that they reach. If ok is false, the next row is only in the database.
func (l *logTail) Entries(reader store.LogReader, seq int64, limit int) (entries []store.LogEntry, upTo int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read[reader] = seq
	at := seq + 1 - l.first
	if at < 0 || at >= int64(len(l.rows)) || l.rows[at].isBig {
		return nil, seq, false
	}
	rows := l.rows[at:min(at+int64(limit), int64(len(l.rows)))]
	entries = make([]store.LogEntry, 0, len(rows))
	for i := range rows {
		if rows[i].isBig {
			break
		}
		if rows[i].entry.Event != nil {
			entries = append(entries, rows[i].entry)
		}
		upTo = rows[i].entry.Seq
	}
	return entries, upTo, true
}
