package sqlite

import (
	"context"
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

// ensureNameIDs returns the IDs of an event's names and inserts new names. The empty name has ID 0.
func (t *tx) ensureNameIDs(e *store.Event) (ids [4]int64, err error) {
	d := t.w.dictionary
	for i, text := range [...]string{e.App, e.Session, e.Type, e.Tool} {
		key := tables.Name{Kind: tables.NameKind(i + 1), Text: text}
		id, ok := d.id(key)
		if !ok && text != "" {
			if id, err = d.number(context.Background(), &t.w.statements, key); err != nil {
				return ids, err
			}
			if id < 0 {
				id = t.counters.lastNameID + 1
				if err := t.Exec(`INSERT INTO names (kind, id, name) VALUES ($1, $2, $3)`, key.Kind, id, text); err != nil {
					return ids, err
				}
				t.counters.lastNameID = id
			}
			d.add(key, id)
		}
		ids[i] = id
	}
	return ids, nil
}

// recordNames records in the zone map that the event seq has the names.
func (t *tx) recordNames(seq int64, ids [4]int64) error {
	for i, id := range ids {
		if id == 0 {
			continue
		}
		if segment, isNew := t.w.segmentNames.Add(seq, id); isNew {
			if err := t.Exec(`INSERT INTO zones (kind, name, zone) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, i+1, id, segment); err != nil {
				t.w.segmentNames.Clear() // it has the name already
				return err
			}
		}
	}
	return nil
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
	_, err := from.getByKey(ctx, []any{&id}, `SELECT id FROM names WHERE kind = $1 AND name = $2`, n.Kind, n.Text)
	return id, err
}

// nameText returns the name with the given ID; empty if it was pruned.
func (d *dictionary) nameText(ctx context.Context, from *statements, k tables.NameKind, id int64) (text string, err error) {
	if id == 0 {
		return "", nil
	}
	if text, ok := d.text(id); ok {
		return text, nil
	}
	found, err := from.getByKey(ctx, []any{&text}, `SELECT name FROM names WHERE kind = $1 AND id = $2`, k, id)
	if found {
		d.addText(id, text)
	}
	return text, err
}
