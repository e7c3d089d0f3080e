package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/hookback/hookback/schema"
)

// kind says what a name names, and names.kind stores it.
type kind int64

const (
	appName kind = iota + 1
	sessionName
	typeName
	toolName
)

type name struct {
	kind kind
	text string
}

// Sessions in the lists of filter values, and the most of anything else.
const (
	listedSessions = 300
	listedNames    = 1000
)

// keptNames is how many names the cache holds before it starts anew: sessions
// come without end.
const keptNames = 20_000

// names caches the table of names, which are ids in every other table. Only the
// writer adds ids: one that a reader had found could have been pruned since.
type names struct {
	mu    sync.RWMutex
	ids   map[name]int64
	texts map[int64]string
}

func newNames() *names { return &names{ids: map[name]int64{}, texts: map[int64]string{}} }

func (n *names) id(of name) (int64, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	id, ok := n.ids[of]
	return id, ok
}

func (n *names) text(id int64) (string, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	text, ok := n.texts[id]
	return text, ok
}

func (n *names) add(of name, id int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.ids) >= keptNames {
		clear(n.ids)
	}
	n.ids[of] = id
	n.addTextLocked(id, of.text)
}

func (n *names) addText(id int64, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addTextLocked(id, text)
}

func (n *names) addTextLocked(id int64, text string) {
	if len(n.texts) >= keptNames {
		clear(n.texts)
	}
	n.texts[id] = text
}

// forget empties the cache, for a transaction that made or removed names and may
// be rolled back. That is rare, and what is needed is soon read again.
func (n *names) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.ids)
	clear(n.texts)
}

// nameID returns the id of a name, which it makes when it is new. No text is 0.
func (t *tx) nameID(k kind, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	of := name{k, text}
	if id, ok := t.w.names.id(of); ok {
		return id, nil
	}
	var id int64
	err := t.get([]any{&id}, `SELECT id FROM names WHERE stream_id = 1 AND kind = ? AND name = ?`, k, text)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		id = t.ledger.name + 1
		if _, err := t.exec(`INSERT INTO names (stream_id, kind, id, name) VALUES (1, ?, ?, ?)`, k, id, text); err != nil {
			return 0, err
		}
		t.ledger.name = id
	case err != nil:
		return 0, err
	}
	t.w.names.add(of, id)
	return id, nil
}

// nameIDs are the four names of an event.
type nameIDs struct{ app, session, typ, tool int64 }

func (t *tx) nameIDs(e *Event) (ids nameIDs, err error) {
	for _, n := range []struct {
		into *int64
		kind kind
		text string
	}{{&ids.app, appName, e.App}, {&ids.session, sessionName, e.Session}, {&ids.typ, typeName, e.Type}, {&ids.tool, toolName, e.Tool}} {
		if *n.into, err = t.nameID(n.kind, n.text); err != nil {
			return ids, err
		}
	}
	return ids, nil
}

// findName returns the id of a name for a filter; false when no event has it.
func (s *Store) findName(ctx context.Context, k kind, text string) (int64, bool, error) {
	if id, ok := s.names.id(name{k, text}); ok {
		return id, true, nil
	}
	var id int64
	err := s.reads.get(ctx, []any{&id}, `SELECT id FROM names WHERE stream_id = 1 AND kind = ? AND name = ?`, k, text)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return id, err == nil, err
}

// nameText is the name that an event holds the id of.
func (s *Store) nameText(ctx context.Context, k kind, id int64) (string, error) {
	if id == 0 {
		return "", nil
	}
	if text, ok := s.names.text(id); ok {
		return text, nil
	}
	var text string
	err := s.reads.get(ctx, []any{&text}, `SELECT name FROM names WHERE stream_id = 1 AND kind = ? AND id = ?`, k, id)
	switch {
	case errors.Is(err, sql.ErrNoRows): // pruned since the event was read
		return "", nil
	case err != nil:
		return "", err
	}
	s.names.addText(id, text)
	return text, nil
}

// FilterOptions are the values that Find can filter by, in order; of sessions the
// 300 that began last, the newest first. It reads no events.
func (s *Store) FilterOptions(ctx context.Context) (schema.FilterOptions, error) {
	var o schema.FilterOptions
	for _, list := range []struct {
		into *[]string
		kind kind
	}{{&o.SourceApps, appName}, {&o.HookEventTypes, typeName}, {&o.ToolNames, toolName}, {&o.SessionIDs, sessionName}} {
		query, limit := namesInOrder, listedNames
		if list.kind == sessionName {
			query, limit = namesNewest, listedSessions
		}
		var err error
		if *list.into, err = s.listNames(ctx, query, list.kind, limit); err != nil {
			return schema.FilterOptions{}, err
		}
	}
	return o, nil
}

const (
	namesInOrder = `SELECT name FROM names WHERE stream_id = 1 AND kind = ? ORDER BY name LIMIT ?`
	namesNewest  = `SELECT name FROM names WHERE stream_id = 1 AND kind = ? ORDER BY id DESC LIMIT ?`
)

func (s *Store) listNames(ctx context.Context, query string, k kind, limit int) ([]string, error) {
	rows, err := s.reads.query(ctx, query, k, limit)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	list := []string{} // an empty list is [] in JSON, not null
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, rows.Err()
}
