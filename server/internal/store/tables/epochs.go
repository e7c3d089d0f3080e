package tables

import (
	"math"
	"slices"

	"github.com/google/uuid"
)

// maxEpochs is the number of epochs that are known. A reader with an older one starts again.
const maxEpochs = 64

// epoch is one opening of the database.
type epoch struct {
	id   string
	head int64 // the last sequence number before it
}

// LoadEpochs reads the epochs into memory, the oldest first.
func (t *Tables) LoadEpochs(query Query) error {
	var list []epoch
	err := query(appendTo(&list, func(e *epoch) []any { return []any{&e.id, &e.head} }), `SELECT id, head FROM epochs ORDER BY n`)
	if err == nil {
		t.epochs.Store(&list)
	}
	return err
}

// BeginEpoch stores an epoch of a log that ends at head. timeline is the line of the server's history.
func BeginEpoch(exec func(query string, args ...any) error, head int64, timeline string) error {
	// Another hub may do the same at this moment. Then there are two epochs with this head.
	err := exec(`INSERT INTO epochs (n, id, head/*[*/, timeline/*]*/) SELECT coalesce(max(n), 0) + 1, $1, $2/*[*/, $3/*]*/ FROM epochs
		WHERE true ON CONFLICT DO NOTHING`, uuid.NewString(), head, timeline)
	if err == nil {
		err = exec(`DELETE FROM epochs WHERE n <= (SELECT max(n) FROM epochs) - $1`, maxEpochs)
	}
	return err
}

// HasEpochs reports whether the epochs were read.
func (t *Tables) HasEpochs() bool { return t.epochs.Load() != nil }

func (t *Tables) Epoch() string {
	list := *t.epochs.Load()
	return list[len(list)-1].id
}

func (t *Tables) HasPosition(epochID string, seq int64) bool {
	epochs := *t.epochs.Load()
	i := slices.IndexFunc(epochs, func(e epoch) bool { return e.id == epochID })
	if i < 0 {
		return false
	}
	end := int64(math.MaxInt64) // of the current epoch
	if i+1 < len(epochs) {
		end = epochs[i+1].head
	}
	return seq <= end
}
