package postgres

import (
	"context"
	"slices"
	"sync"

	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// publisher hands committed rows to the hub in the order of their numbers, including the rows of other hubs.
type publisher struct {
	store *engine

	mu      sync.Mutex // held while rows are handed over
	publish func([]store.LogRow)
	last    int64          // number of the newest row handed over
	lastRow store.LogRow   // without its bytes; zero: none yet
	waiting []store.LogRow // own rows whose earlier rows of other hubs could not be read yet
}

// newest returns the newest row handed over, without its bytes.
func (p *publisher) newest() store.LogRow {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lastRow
}

// own makes a commit of this hub current and publishes its rows, after the earlier rows of other hubs.
func (p *publisher) own(rows []store.LogRow, makeCurrent func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	makeCurrent()
	p.store.State.Tail.Append(rows, p.store.State.Pruned.Load())
	if len(rows) == 0 {
		return
	}
	if p.publish == nil || len(p.waiting) == 0 && rows[0].Seq == p.last+1 {
		p.hand(rows)
		return
	}
	for _, row := range rows {
		e := *row.Event // its bytes belong to the poster, who may not wait until it is published
		e.Envelope, e.Payload, e.Question, e.Status =
			slices.Clone(e.Envelope), slices.Clone(e.Payload), slices.Clone(e.Question), slices.Clone(e.Status)
		row.Event = &e
		p.waiting = append(p.waiting, row)
	}
	if err := p.publishUpTo(rows[len(rows)-1].Seq); err != nil {
		p.store.log.Error("rows of other hubs not read in time; later ones wait for them", "after", p.last, "err", err)
		p.store.follower.wakeup.Wake()
	}
}

// foreign publishes the rows of other hubs that this one has caught up with.
func (p *publisher) foreign() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.publish == nil {
		return nil // the hub starts
	}
	return p.publishUpTo(p.store.State.Head.Load())
}

func (p *publisher) hand(rows []store.LogRow) {
	p.store.MeasureGrowth(rows)
	if p.publish != nil {
		p.publish(rows)
	}
	last := &rows[len(rows)-1]
	p.last = last.Seq
	p.lastRow = store.LogRow{Seq: last.Seq, Change: last.Change, Event: &store.Event{ID: last.Event.ID, UID: last.Event.UID}}
}

// followLimit is the number of rows of other hubs that are read and published at once.
const followLimit = 512

func (p *publisher) publishUpTo(head int64) error {
	ctx, cancel := exchangeTimeout()
	defer cancel()
	for p.last < head {
		if pruned := p.store.State.Pruned.Load(); p.last < pruned && pruned <= head {
			p.last = pruned // the rows are gone
			continue
		}
		end := min(head, p.last+followLimit)
		if rows := p.waiting; len(rows) > 0 {
			if rows[0].Seq <= p.last+1 {
				p.handWaiting()
				continue
			}
			end = min(end, rows[0].Seq-1)
		}
		rows, err := p.store.readForeign(ctx, p.last, end)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return nil
		}
		p.store.foreignRows.Add(int64(len(rows)))
		p.hand(rows)
	}
	return nil
}

// handWaiting hands over the own rows that follow the last one, without those that were pruned meanwhile.
func (p *publisher) handWaiting() {
	n, from := 0, 0
	for next := p.last + 1; n < len(p.waiting) && p.waiting[n].Seq <= next; n++ {
		if p.waiting[n].Seq == next {
			next++
		} else {
			from = n + 1
		}
	}
	rows := p.waiting[from:n]
	if p.waiting = p.waiting[n:]; len(rows) > 0 {
		p.hand(rows)
	}
}

const queryTranscripts = `SELECT seq FROM chats WHERE seq > $1 AND seq <= $2`

// readForeign reads rows of other hubs as their hub published them. Facts that only the writer has count as
// true for each of them.
func (s *engine) readForeign(ctx context.Context, seq, end int64) ([]store.LogRow, error) {
	rows, err := s.ReadLog(ctx, seq, end, followLimit)
	if err != nil {
		return nil, err
	}
	hasTranscript := map[int64]bool{}
	err = s.Read(ctx, func(rows tables.Rows) error {
		var seq int64
		err := rows.Scan(&seq)
		hasTranscript[seq] = true
		return err
	}, queryTranscripts, seq, end)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		row := &rows[i]
		row.Foreign = true
		switch {
		case row.Change:
			row.Kinds = feed.Changed | feed.Deadline | feed.Undo | feed.Due
		case row.Event.Question != nil:
			row.Kinds = feed.NewQuestion | feed.Liveness
		}
		row.HasTranscript = hasTranscript[row.Seq]
	}
	return rows, nil
}
