package store

import (
	"context"
	"time"
)

// Limits of the stored coverage. Reports come from programs outside our control.
const (
	MaxCoverage   = 500                 // agents of a requester: those with the newest reports and events are kept
	CoverageStale = 24 * time.Hour      // an agent without a report and an event for so long makes room for another
	CoverageAge   = 30 * 24 * time.Hour // an agent without a report and an event for so long is removed
)

// CoverageRow is what is known about an agent of an account on a machine.
type CoverageRow struct {
	Host, Account, Agent string
	Requester            string // the authenticated name that reported it first; empty: none

	Report     []byte    // control.Installation as JSON; empty: none
	ReportedAt time.Time // zero: never
	Proof      []byte    // control.GateFacts of the newest events as JSON; empty: none
	ProvenAt   time.Time // zero: never
}

// Coverage stores which agents run the gate.
type Coverage interface {
	// PutCoverage stores rows. A stored row keeps its requester. The report and the proof of a row each replace an older one; without a
	// time they leave the stored one.
	PutCoverage(ctx context.Context, rows []CoverageRow, now time.Time) error

	// Coverage returns all rows by host, account and agent.
	Coverage(ctx context.Context) ([]CoverageRow, error)
}
