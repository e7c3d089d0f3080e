package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/hookback/hookback/agentclient/intent"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// maxStarted limits the calls that have not ended and whose arguments are kept.
const maxStarted = 100

// changeWords are the values of history.ChangedFile.Change.
var changeWords = map[string]string{intent.VerbEdit: "edited", intent.VerbWrite: "written", intent.VerbDelete: "deleted"}

// Files returns the files that a session changed. It reads the events of the session: a projection
// would add to the cost of each event for a list that few people open. It returns
// schema.ErrNotFound for an unknown session.
func (s *Service) Files(ctx context.Context, key store.SessionKey) (history.SessionFiles, error) {
	if _, err := s.Session(ctx, key); err != nil {
		return history.SessionFiles{}, err
	}
	c := changedFiles{byPath: map[string]*history.ChangedFile{}, started: map[string]startedCall{}}
	filter := store.Filter{App: key.App, Session: key.Session, Limit: exportPage, Oldest: true}
	end := schema.EventID(s.Store.Head())
	for ctx.Err() == nil {
		events, err := s.Store.Find(ctx, filter)
		if err != nil || len(events) == 0 {
			return c.list(), err
		}
		for _, e := range events {
			if e.ID > end {
				return c.list(), nil
			}
			filter.After = e.ID
			if kind := digest.KindOf(e.Type); kind != digest.ToolStart && kind != digest.ToolEnd && !digest.IsImport(e.Type) {
				continue
			}
			if e.PayloadBytes > 0 { // lists leave out large payloads
				if e, _, err = s.Store.Event(ctx, e.ID); err != nil {
					return history.SessionFiles{}, err
				}
			}
			c.add(e)
		}
	}
	return history.SessionFiles{}, ctx.Err()
}

// changedFiles collects the changes of a session.
type changedFiles struct {
	byPath  map[string]*history.ChangedFile
	more    int64                  // files that an import left out
	started map[string]startedCall // by the id of the call
	ended   []string               // ids of the last calls that ended; hooks may report an end twice
}

// startedCall is a call whose end may come without its arguments.
type startedCall struct {
	id    schema.EventID
	input json.RawMessage
}

func (c *changedFiles) add(e *store.Event) {
	if digest.IsImport(e.Type) {
		c.replace(digest.ReadImport(e.Payload, e.ReceivedAt.UnixMilli()))
		return
	}
	f := e.Facts(nil)
	call := startedCall{id: e.ID, input: digest.FindMember(e.Payload, "tool_input")}
	key := f.Agent + "/" + f.UseID
	if f.Kind == digest.ToolStart {
		c.ended = slices.DeleteFunc(c.ended, func(k string) bool { return k == key }) // some models use the same ids in each turn
		if f.UseID != "" && len(c.started) < maxStarted {
			c.started[key] = call
		}
		return
	}
	if f.UseID != "" {
		if slices.Contains(c.ended, key) {
			return
		}
		c.ended = append(c.ended[max(0, len(c.ended)-maxStarted+1):], key)
		if start, known := c.started[key]; known && call.input == nil {
			call = start
		}
		delete(c.started, key)
	}
	if f.Failed || f.Interrupted {
		return
	}
	for _, change := range intent.Files(f.Tool, call.input) {
		c.addChange(&change, call.id, f.At)
	}
}

// replace sets the files of a transcript. A later import of a session has all files of an earlier one.
func (c *changedFiles) replace(in *history.ImportedSession) {
	c.byPath, c.more = map[string]*history.ChangedFile{}, max(0, in.MoreFiles)
	for i := range in.Files[:min(len(in.Files), history.MaxFiles)] {
		f := in.Files[i]
		f.Events = []schema.EventID{} // the arguments of the calls are only in the transcript
		c.byPath[f.Path] = &f
	}
}

func (c *changedFiles) addChange(change *intent.FileChange, id schema.EventID, at int64) {
	f := c.byPath[change.Path]
	if f == nil {
		f = &history.ChangedFile{Path: change.Path}
		c.byPath[change.Path] = f
	}
	f.Change = changeWords[change.Verb]
	f.Added, f.Removed, f.Calls = f.Added+int64(change.Added), f.Removed+int64(change.Removed), f.Calls+1
	f.Events = append([]schema.EventID{id}, f.Events[:min(len(f.Events), history.MaxFileEdits-1)]...)
	f.LastAt = schema.Millis(at)
}

// list returns the files, the last changed first.
func (c *changedFiles) list() history.SessionFiles {
	files := make([]history.ChangedFile, 0, len(c.byPath))
	for _, f := range c.byPath {
		files = append(files, *f)
	}
	slices.SortFunc(files, func(a, b history.ChangedFile) int {
		return cmp.Or(cmp.Compare(b.LastAt, a.LastAt), slices.Compare(b.Events, a.Events), cmp.Compare(a.Path, b.Path))
	})
	shown := min(len(files), history.MaxFiles)
	return history.SessionFiles{Files: files[:shown], More: c.more + int64(len(files)-shown)}
}
