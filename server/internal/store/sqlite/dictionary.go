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
	ids   nameCache[tables.Name, int64]
	texts nameCache[int64, string]
}

func (d *dictionary) add(key tables.Name, id int64) {
	d.ids.add(key, id)
	d.texts.add(id, key.Text)
}

// clear empties the cache, for a transaction that added or removed names and may be
// rolled back. That is rare, and names in use are soon read again.
func (d *dictionary) clear() {
	d.ids.clear()
	d.texts.clear()
}

type nameCache[K comparable, V any] struct {
	mu     sync.RWMutex
	values map[K]V
}

func (c *nameCache[K, V]) get(key K) (V, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	value, ok := c.values[key]
	return value, ok
}

func (c *nameCache[K, V]) add(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil || len(c.values) >= maxCachedNames {
		c.values = map[K]V{}
	}
	c.values[key] = value
}

func (c *nameCache[K, V]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.values)
}

// ensureNameIDs returns the IDs of an event's names and inserts new names. The empty name has ID 0.
func (t *tx) ensureNameIDs(e *store.Event) (ids [4]int64, err error) {
	d := t.w.dictionary
	for i, text := range [...]string{e.App, e.Session, e.Type, e.Tool} {
		key := tables.Name{Kind: tables.NameKind(i + 1), Text: text}
		id, ok := d.ids.get(key)
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
	if id, ok := d.ids.get(n); ok {
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
	if text, ok := d.texts.get(id); ok {
		return text, nil
	}
	found, err := from.getByKey(ctx, []any{&text}, `SELECT name FROM names WHERE kind = $1 AND id = $2`, k, id)
	if found {
		d.texts.add(id, text)
	}
	return text, err
}
