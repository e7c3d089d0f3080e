package sqlite

import "github.com/hookback/hookback/server/internal/store/tables"

// segmentNames caches the names that the table already lists for the newest segment.
type segmentNames struct {
	segment int64
	names   map[int64]bool
}

func newSegmentNames() segmentNames { return segmentNames{segment: -1, names: map[int64]bool{}} }

// clear empties the cache after a rollback.
func (m *segmentNames) clear() {
	m.segment = -1
	clear(m.names)
}

// recordNames records in the zone map that the event seq has the names.
// An index per column would do the same as the name segments at three times the cost: it
// dirties a page per value and commit, the zone map a row per value and segment.
func (t *tx) recordNames(seq int64, ids [4]int64) error {
	names := &t.w.segmentNames
	if segment := seq >> tables.NameSegmentBits; segment != names.segment {
		names.clear()
		names.segment = segment
	}
	for i, id := range ids {
		if id == 0 || names.names[id] {
			continue
		}
		if err := t.Exec(`INSERT INTO zones (kind, name, zone) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, i+1, id, names.segment); err != nil {
			return err
		}
		names.names[id] = true
	}
	return nil
}
