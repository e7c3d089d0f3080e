package sessions

import (
	"context"
	"io"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// exportPage is the number of events read per page, in list format.
	exportPage = 200
	// exportBuffer is the size at which encoding pauses until the buffer is read. The
	// last event may exceed it: a complete event can be as large as a request.
	exportBuffer = 1 << 20
)

// Export returns a session, from its first event to the last one stored now, as
// Markdown or as one complete event per line (JSON Lines). Events are loaded page by
// page while it is read. Only the newest transcript is included, since each one
// contains those before. Export returns schema.ErrNotFound immediately; other errors
// come from Read.
func (s *Service) Export(ctx context.Context, key store.SessionKey, markdown bool) (io.Reader, error) {
	detail, err := s.Session(ctx, key)
	if err != nil {
		return nil, err
	}
	e := &sessionExport{
		ctx: ctx, db: s.Store, transcript: detail.Session.Transcript, end: schema.EventID(s.Store.Head()),
		filter: store.Filter{App: key.App, Session: key.Session, Limit: exportPage, Oldest: true},
	}
	e.appendEvent = e.appendLine
	if markdown {
		e.appendEvent = e.appendMarkdown
		e.buffer = appendReportHeader(nil, &detail, s.Clock())
	}
	return e, nil
}

// sessionExport is the io.Reader of Export.
type sessionExport struct {
	ctx context.Context // of the request that reads the export
	db  interface {
		store.Log
		store.History
	}
	filter      store.Filter
	end         schema.EventID // last event to include
	transcript  schema.EventID
	appendEvent func(dst []byte, e *store.Event) ([]byte, error)
	events      []*store.Event // rest of the page, not encoded yet
	buffer      []byte         // encoded, not read yet
	done        bool
}

// Read implements io.Reader.
func (x *sessionExport) Read(p []byte) (int, error) {
	for len(x.buffer) == 0 {
		if x.done {
			return 0, io.EOF
		}
		if err := x.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, x.buffer)
	x.buffer = x.buffer[n:]
	return n, nil
}

func (x *sessionExport) fill() (err error) {
	if len(x.events) == 0 {
		if x.events, err = x.db.Find(x.ctx, x.filter); err != nil {
			return err
		}
	}
	x.buffer = x.buffer[:0]
	x.done = len(x.events) == 0
	for len(x.events) > 0 && len(x.buffer) < exportBuffer {
		e := x.events[0]
		if e.ID > x.end {
			x.done = true
			return nil
		}
		if x.buffer, err = x.appendEvent(x.buffer, e); err != nil {
			return err
		}
		x.events, x.filter.After = x.events[1:], e.ID
	}
	return nil
}

// fullEvent returns the event with the payload and transcript that lists omit.
func (x *sessionExport) fullEvent(e *store.Event) (*store.Event, []byte, error) {
	if e.PayloadBytes == 0 && e.ID != x.transcript {
		return e, nil, nil
	}
	e, chat, err := x.db.Event(x.ctx, e.ID)
	if err != nil || e.ID != x.transcript {
		chat = nil
	}
	return e, chat, err
}

func (x *sessionExport) appendLine(dst []byte, e *store.Event) ([]byte, error) {
	e, chat, err := x.fullEvent(e)
	if err != nil {
		return dst, err
	}
	return append(query.AppendEvent(dst, e, chat), '\n'), nil
}

func (x *sessionExport) appendMarkdown(dst []byte, e *store.Event) ([]byte, error) {
	e, _, err := x.fullEvent(e)
	if err != nil {
		return dst, err
	}
	return appendReportEvent(dst, e), nil
}
