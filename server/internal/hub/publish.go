package hub

import (
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// publish encodes committed rows once and adds them to the feed, the fan-out to all
// streams. It runs on the store's writer goroutine before the posters get their
// results, so the feed has the order of the commits.
func (h *Hub) publish(rows []store.LogRow) {
	h.notifyRows(rows)
	h.initial.Store(nil) // outdated by this commit
	h.Feed.Publish(h.encodeFrames(rows)...)
}

func (h *Hub) encodeFrames(rows []store.LogRow) []feed.Frame {
	frames := make([]feed.Frame, len(rows))
	for i, row := range rows {
		frames[i] = encodeFrame(row)
	}
	return frames
}

func encodeFrame(row store.LogRow) feed.Frame {
	e := row.Event
	f := feed.Frame{Seq: row.Seq, ID: int64(e.ID), Kinds: row.Kinds, Status: row.Change}
	if !row.Change {
		f.Data = e.AppendJSON(make([]byte, 0, 256+len(e.Envelope)+min(len(e.Payload), schema.MaxListed)+len(e.Question)+len(e.Status)), schema.MaxListed)
		return f
	}
	f.Data = append(f.Data, `{"id":`...)
	f.Data = append(f.Data, e.ID.String()...)
	f.Data = append(f.Data, `,"humanInTheLoopStatus":`...)
	f.Data = append(f.Data, e.Status...)
	f.Data = append(f.Data, '}')
	if row.Ends {
		f.End = e.AppendJSON(nil, schema.MaxListed)
	}
	return f
}
