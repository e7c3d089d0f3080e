package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
)

// eachRow calls scan for each row of a query, and closes rows.
func eachRow(rows pgx.Rows, err error, scan func(pgx.Rows) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// collect returns the values that scan reads from the rows of a query, and closes rows.
func collect[T any](rows pgx.Rows, err error, scan func(pgx.Rows, *T) error) ([]T, error) {
	var list []T
	err = eachRow(rows, err, func(rows pgx.Rows) error {
		list = append(list, *new(T))
		return scan(rows, &list[len(list)-1])
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// scanColumn scans a row of one column.
func scanColumn[T any](rows pgx.Rows, v *T) error { return rows.Scan(v) }

func scanIDs(rows pgx.Rows, err error) ([]schema.EventID, error) {
	return collect(rows, err, scanColumn[schema.EventID])
}
