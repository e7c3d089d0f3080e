package query

import (
	"context"
	"encoding/json"
	"io"

	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/store"
)

// Ledger returns a page of the ledger (the hash-chained audit log) as a JSON array,
// oldest first.
func (s *Service) Ledger(ctx context.Context, p store.LedgerPage) ([]byte, error) {
	entries, err := s.Store.Ledger(ctx, p)
	if err != nil {
		return nil, err
	}
	dst := []byte{'['}
	for i, entry := range entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, entry...)
	}
	return append(dst, ']'), nil
}

// ledgerExportPage is the number of entries that an export reads at a time.
const ledgerExportPage = 500

// ExportLedger returns the entries after p.After, one per line, up to the last one at
// the time it is reached.
func (s *Service) ExportLedger(ctx context.Context, p store.LedgerPage) io.Reader {
	p.Oldest, p.Limit = true, ledgerExportPage
	return &ledgerExport{ctx: ctx, db: s.Store, page: p}
}

// ledgerExport is the io.Reader of ExportLedger.
type ledgerExport struct {
	ctx    context.Context // of the request that reads the export
	db     store.Ledger
	page   store.LedgerPage
	buffer []byte // encoded, not read yet
}

// Read implements io.Reader.
func (x *ledgerExport) Read(b []byte) (int, error) {
	if len(x.buffer) == 0 {
		entries, err := x.db.Ledger(x.ctx, x.page)
		if err != nil {
			return 0, err
		}
		if len(entries) == 0 {
			return 0, io.EOF
		}
		x.buffer = x.buffer[:0]
		for _, entry := range entries {
			x.buffer = append(append(x.buffer, entry...), '\n')
		}
		var last sign.LedgerEntry
		if err := json.Unmarshal(entries[len(entries)-1], &last); err != nil {
			return 0, err
		}
		x.page.After = last.N
	}
	n := copy(b, x.buffer)
	x.buffer = x.buffer[n:]
	return n, nil
}
