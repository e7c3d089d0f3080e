package store

import (
	"context"
	"time"

	"github.com/hookback/hookback/server/internal/bus"
)

// Admin maintains the store.
type Admin interface {
	// Prune removes the rows that the policy selects, in small transactions between other
	// writes. It never removes a pending question, or one whose answer is still being
	// delivered. Names without events leave the filter options, and sessions without events
	// leave the list of sessions. Aggregates have their own limit. Removed data is overwritten.
	// The store reuses its space without returning it; a backup is compact.
	//
	// Prune stops early if ctx ends or the hub is busy. The result counts the rows removed
	// until then.
	Prune(ctx context.Context, p RetentionPolicy) (PruneResult, error)

	// Schema returns the version of the database's schema, which grows with its migrations.
	Schema() int64

	// RunIndexer keeps the search index up to date until ctx ends. It yields while writes
	// are queued and catches up later. It always returns nil.
	RunIndexer(ctx context.Context) error

	// Wait returns nil when ctx ends. It returns an error as soon as the disk did not confirm
	// a write: the operating system may then report success for data that it lost, so the store
	// writes nothing more, and the process must end. A new process reads the state of the disk.
	Wait(ctx context.Context) error

	// Close commits queued writes, rejects later ones with schema.ErrStopping and closes the
	// database. It is idempotent.
	Close() error
}

// KeyChange replaces the hub's key. The caller sets Rotate; ChangeKey sets the rest.
type KeyChange struct {
	// Rotate signs the new key with the old one, so that agents follow. Otherwise the new key has
	// no predecessor, and the old one may be lost.
	Rotate bool

	Old, New  string   // key ids
	PublicKey string   // of the new key, see sign.FormatPublicKey
	Lost      bool     // the old key was missing
	Channels  []string // names of the channels that were removed with it, because only it could decrypt them
}

// CommitObserver counts group commits.
type CommitObserver interface {
	Committed(c Commit)
}

// Commit describes one group commit. An engine reports each one, for metrics.
type Commit struct {
	Ops      int // writes in the group
	Duration time.Duration
	Err      error // if set, nothing of the group was stored
}

// RetentionPolicy selects what Prune removes. Zero values remove nothing.
type RetentionPolicy struct {
	// EventsBefore removes events without a question received before this time, and the sessions that
	// are known only from transcripts and were last active before it.
	EventsBefore      time.Time
	MaxBytes          int64     // removes the oldest of them while the database holds more than this
	QuestionsBefore   time.Time // removes questions received and last changed before this time, with all their rows
	TestsBefore       time.Time // removes settled test requests, and the reports of their agent, from before this time
	ProjectionsBefore time.Time // removes aggregates from before this time
	Batch             int       // largest number of events per transaction; 0: as many as fit the engine's budget of time
}

// PruneResult counts the removed rows.
type PruneResult struct {
	Events, Questions, Changes int64
}

// Stats are values for metrics.
type Stats struct {
	Events, Pending, Undelivered int64
	DatabaseBytes, JournalBytes  int64 // JournalBytes: committed, and not merged into the database yet
	FreeBytes                    int64 // of the disk
	Queued                       int   // writes in the queue
	DiskLow                      bool  // plain events are refused because the disk is nearly full
	LeftBytes                    int64 // for questions and answers on such a disk, with the reserve
	RefusedFull, RefusedFault    int64 // writes refused since startup: without space, and by other faults

	// Lags of the background readers. The search index counts full blocks only.
	Projections, SearchIndex Lag

	Hubs *HubStats // nil: the database is for one hub

	// Fault is why the store refuses or may lose writes, as text for users: the last commit
	// or checkpoint failed, or the database's files are gone. Empty: none. It is also set if Stats
	// fails.
	Fault string
}

// HubStats are about the hubs that share the database.
type HubStats struct {
	Alive       int
	IsLeader    bool
	Head        int64 // newest row of the log that this hub has read
	FeedLagRows int64 // rows that this hub has read and not published
	Conflicts   int64 // groups of writes that ran again because another hub had committed
	ForeignRows int64 // rows of other hubs that were published
	Takeovers   int64 // hubs whose work was taken over

	IsBusUp bool // false without a bus
	Bus     bus.Stats

	ClockOffset      time.Duration // how far the database's clock is ahead of that of this machine
	ConnectionsInUse int           // in the pool for reads
	HasAsyncStandby  bool          // the database has standbys, and none of them confirms commits
}
