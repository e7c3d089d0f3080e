package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// maxCachedNames bounds the cache: new session IDs never stop coming. A full cache is
// cleared.
const maxCachedNames = 20_000

// dictionary caches the table names, whose IDs stand for names in all other tables.
// Only the writer adds to ids: an ID found by a reader may have been pruned since.
type dictionary struct {
	mu    sync.RWMutex
	ids   map[tables.Name]int64
	texts map[int64]string
}

func newDictionary() *dictionary {
	return &dictionary{ids: map[tables.Name]int64{}, texts: map[int64]string{}}
}

func (d *dictionary) id(key tables.Name) (int64, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	id, ok := d.ids[key]
	return id, ok
}

func (d *dictionary) text(id int64) (string, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	text, ok := d.texts[id]
	return text, ok
}

func (d *dictionary) add(key tables.Name, id int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.ids) >= maxCachedNames {
		clear(d.ids)
	}
	d.ids[key] = id
	d.addTextLocked(id, key.Text)
}

func (d *dictionary) addText(id int64, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addTextLocked(id, text)
}

func (d *dictionary) addTextLocked(id int64, text string) {
	if len(d.texts) >= maxCachedNames {
		clear(d.texts)
	}
	d.texts[id] = text
}

// clear empties the cache, for a transaction that added or removed names and may be
// rolled back. That is rare, and names in use are soon read again.
func (d *dictionary) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.ids)
	clear(d.texts)
}

// ensureNameID returns the ID of a name and inserts a new name. The empty name has ID 0.
func (t *tx) ensureNameID(k tables.NameKind, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	key := tables.Name{Kind: k, Text: text}
	if id, ok := t.w.dictionary.id(key); ok {
		return id, nil
	}
	var id int64
	err := t.get([]any{&id}, queryNameID, k, text)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		id = t.counters.lastNameID + 1
		if _, err := t.exec(`INSERT INTO names (kind, id, name) VALUES (?, ?, ?)`, k, id, text); err != nil {
			return 0, err
		}
		t.counters.lastNameID = id
	case err != nil:
		return 0, err
	}
	t.w.dictionary.add(key, id)
	return id, nil
}

// nameIDs are the IDs of an event's four names.
type nameIDs struct{ app, session, typ, tool int64 }

func (t *tx) ensureNameIDs(e *store.Event) (ids nameIDs, err error) {
	for _, n := range []struct {
		dest *int64
		kind tables.NameKind
		text string
	}{{&ids.app, tables.AppName, e.App}, {&ids.session, tables.SessionName, e.Session}, {&ids.typ, tables.TypeName, e.Type}, {&ids.tool, tables.ToolName, e.Tool}} {
		if *n.dest, err = t.ensureNameID(n.kind, n.text); err != nil {
			return ids, err
		}
	}
	return ids, nil
}

// number returns the number of a name, or one that no event has. The empty name has the number 0.
func (d *dictionary) number(ctx context.Context, from *statements, n tables.Name) (int64, error) {
	if n.Text == "" {
		return 0, nil
	}
	if id, ok := d.id(n); ok {
		return id, nil
	}
	id := int64(-1)
	err := from.getByKey(ctx, []any{&id}, queryNameID, n.Kind, n.Text)
	return id, ignoreNoRows(err)
}

const (
	queryNameID   = `SELECT id FROM names WHERE kind = ? AND name = ?`
	queryNameText = `SELECT name FROM names WHERE kind = ? AND id = ?`
)

// nameText returns the name with the given ID; empty if it was pruned.
func (d *dictionary) nameText(ctx context.Context, from *statements, k tables.NameKind, id int64) (string, error) {
	if id == 0 {
		return "", nil
	}
	if text, ok := d.text(id); ok {
		return text, nil
	}
	var text string
	err := from.getByKey(ctx, []any{&text}, queryNameText, k, id)
	if err == nil {
		d.addText(id, text)
	}
	return text, ignoreNoRows(err) // pruned since the event was read
}
