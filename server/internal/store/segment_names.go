package store

// A zone is a stretch of nameSegmentSize numbers of the log. For every name the table
// zones has the zones with events of that name, so that a filter by something
// rare skips the rest of the log. An index per column would find the same at
// three times the cost: it dirties a page per value and commit, this one a row
// per value and zone.
const (
	nameSegmentBits = 9
	nameSegmentSize = 1 << nameSegmentBits
)

// segmentNames are the names that the newest zone is known to have in the table.
type segmentNames struct {
	segment int64
	names   map[int64]bool
}

func newSegmentNames() segmentNames { return segmentNames{segment: -1, names: map[int64]bool{}} }

// clear forgets what a rolled back transaction marked.
func (m *segmentNames) clear() {
	m.segment = -1
	clear(m.names)
}

// recordNames records that the event seq has the names.
func (t *tx) recordNames(seq int64, ids nameIDs) error {
	names := &t.w.segmentNames
	if segment := seq >> nameSegmentBits; segment != names.segment {
		names.clear()
		names.segment = segment
	}
	for _, id := range [...]int64{ids.app, ids.session, ids.typ, ids.tool} {
		if id == 0 || names.names[id] {
			continue
		}
		_, err := t.exec(`INSERT INTO zones (stream_id, name, zone) VALUES (1, ?, ?) ON CONFLICT DO NOTHING`, id, names.segment)
		if err != nil {
			return err
		}
		names.names[id] = true
	}
	return nil
}
