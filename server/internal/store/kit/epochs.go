package kit

import (
	"math"
	"slices"
)

// MaxEpochs is the number of epochs that are known. A reader with an older one starts again.
const MaxEpochs = 64

// Epoch is one opening of the database.
type Epoch struct {
	ID   string
	Head int64 // the last sequence number before it
}

// HasPosition implements Ledger.HasPosition with the epochs, the oldest first.
func HasPosition(epochs []Epoch, epochID string, seq int64) bool {
	i := slices.IndexFunc(epochs, func(e Epoch) bool { return e.ID == epochID })
	if i < 0 {
		return false
	}
	end := int64(math.MaxInt64) // of the current epoch
	if i+1 < len(epochs) {
		end = epochs[i+1].Head
	}
	return seq <= end
}
