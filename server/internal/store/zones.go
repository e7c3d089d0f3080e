package store

// A zone is a stretch of zoneSize numbers of the log. For every name the table
// zones has the zones with events of that name, so that a filter by something
// rare skips the rest of the log. An index per column would find the same at
// three times the cost: it dirties a page per value and commit, this one a row
// per value and zone.
const (
	zoneBits = 9
	zoneSize = 1 << zoneBits
)

// marks are the names that the newest zone is known to have in the table.
type marks struct {
	zone  int64
	names map[int64]bool
}

func newMarks() marks { return marks{zone: -1, names: map[int64]bool{}} }

// clear forgets what a rolled back transaction marked.
func (m *marks) clear() {
	m.zone = -1
	clear(m.names)
}

// mark records that the event seq has the names.
func (t *tx) mark(seq int64, ids nameIDs) error {
	m := &t.w.marks
	if zone := seq >> zoneBits; zone != m.zone {
		m.clear()
		m.zone = zone
	}
	for _, id := range [...]int64{ids.app, ids.session, ids.typ, ids.tool} {
		if id == 0 || m.names[id] {
			continue
		}
		_, err := t.exec(`INSERT INTO zones (stream_id, name, zone) VALUES (1, ?, ?) ON CONFLICT DO NOTHING`, id, m.zone)
		if err != nil {
			return err
		}
		m.names[id] = true
	}
	return nil
}
