package tables

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// brokenTx fails all statements, and counts them.
type brokenTx struct {
	Tx
	err   error
	calls int
}

func (b *brokenTx) Exec(string, ...any) error { b.calls++; return b.err }

func (b *brokenTx) ExecOne(Guard, string, ...any) error { return b.Exec("") }

func (b *brokenTx) ExecCount(string, ...any) (int64, error) { return 1, b.Exec("") }

func (b *brokenTx) Get([]any, string, ...any) (bool, error) { return true, b.Exec("") }

func (b *brokenTx) Query(func(Rows) error, string, ...any) error { return b.Exec("") }

// SQLite may have ended the transaction: a later statement would commit alone.
func TestWork_RunsNothingAfterError(t *testing.T) {
	t.Parallel()
	tx := &brokenTx{err: errors.New("disk full")}
	w := (&Tables{}).Begin(tx, time.Time{}, &Counters{})
	nothing := &Op{Run: func(*Work) error { return nil }}
	statements := []func(){
		func() { w.do("") },
		func() { w.doGuarded(guardRule, "") },
		func() { w.count("") },
		func() { w.find(nil, "") },
		func() { collectIn(w, column[int64], "") },
	}
	for _, first := range statements {
		first()
		for _, later := range statements {
			later()
		}
		w.fail(schema.ErrNotFound)
		w.require(false, schema.ErrFrozen)
		require.Equal(t, 1, tx.calls)
		require.Equal(t, tx.err, w.Perform(nothing))
		w.Undo(Mark{})
		require.NoError(t, w.Perform(nothing), "the next write is not affected")
		tx.calls = 0
	}
}
