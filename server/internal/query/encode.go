package query

import (
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// MaxPageBytes limits the size of a list or an initial message.
const MaxPageBytes = 4 << 20

// encodeList encodes events as a JSON array of at most MaxPageBytes.
func encodeList(events []*store.Event, dropOldest bool) []byte {
	return encodeUpTo(MaxPageBytes, events, nil, dropOldest)
}

// encodeUpTo encodes events as a JSON array. Beyond limit bytes it omits events, from
// the old end or the new one. Events in keep are never omitted, but lose their payload
// if necessary.
func encodeUpTo(limit int, events []*store.Event, keep map[schema.EventID]bool, dropOldest bool) []byte {
	encoded := make([][]byte, len(events))
	size := 2
	for i, e := range events {
		encoded[i] = e.AppendJSON(nil, schema.MaxListed)
		size += len(encoded[i]) + 1
	}
	for n := range events {
		if size <= limit {
			break
		}
		i := n
		if !dropOldest {
			i = len(events) - 1 - n
		}
		size -= len(encoded[i]) + 1
		encoded[i] = nil
		if keep[events[i].ID] {
			encoded[i] = events[i].AppendJSON(nil, 0)
			size += len(encoded[i]) + 1
		}
	}
	dst := make([]byte, 0, size)
	dst = append(dst, '[')
	for _, b := range encoded {
		if b == nil {
			continue
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, b...)
	}
	return append(dst, ']')
}
