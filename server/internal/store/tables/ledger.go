package tables

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
)

// Chain is the end of the audit log, which the next entry is chained to.
type Chain struct {
	N      int64  // number of the last entry
	Hash   string // of the last entry
	Signed int64  // number of the newest entry with a signed head; 0: none
}

// QueryChain reads a Chain. $1 is sign.FirstPrev.
const QueryChain = `SELECT coalesce(max(n), 0), coalesce((SELECT hash FROM ledger ORDER BY n DESC LIMIT 1), $1),
	coalesce((SELECT max(n) FROM ledger_heads), 0) FROM ledger`

// SignEvery is the number of entries after which the hub signs the end of the audit log. Such a head is
// written in the transaction of its entry and kept.
const SignEvery = 100

func (t *Tables) AppendLedger(ctx context.Context, record store.LedgerRecord) error {
	return t.change(ctx, Essential, func(w *Work) { w.record(record) })
}

// AppendLedger appends a record to the audit log in this transaction.
func (w *Work) AppendLedger(record store.LedgerRecord) error {
	w.record(record)
	return w.err
}

// record appends records to the audit log in this transaction, each with the hash
// of its predecessor.
func (w *Work) record(records ...store.LedgerRecord) {
	chain := &w.Chain
	for _, record := range records {
		if w.err != nil {
			return // before the chain has an entry that is not stored
		}
		e := sign.LedgerEntry{At: schema.Millis(Millis(w.Now)), Action: record.Action, Actor: record.Actor, QuestionID: record.QuestionID}
		var err error
		if record.Data != nil {
			if e.Data, err = json.Marshal(record.Data); err != nil {
				w.fail(fmt.Errorf("encode the audit log data of %s: %w", record.Action, err))
			}
		}
		w.fail(e.Seal(chain.N, chain.Hash))
		line, err := json.Marshal(e)
		w.fail(err)
		w.do(`INSERT INTO ledger (n, question, hash, entry) VALUES ($1, $2, $3, $4)`, e.N, e.QuestionID, e.Hash, line)
		chain.N, chain.Hash = e.N, e.Hash
		if e.N%SignEvery == 0 {
			w.fail(w.SignLedgerHead())
		}
	}
}

func (t *Tables) Ledger(ctx context.Context, p store.LedgerPage) ([]json.RawMessage, error) {
	if p.Before <= 0 {
		p.Before = math.MaxInt64
	}
	query, args := `SELECT entry FROM ledger WHERE n > $1 AND n < $2`, []any{p.After, p.Before, p.Limit}
	if p.QuestionID != 0 {
		query, args = query+` AND question > 0 AND question = $4`, append(args, p.QuestionID)
	}
	if p.Oldest {
		return collect(ctx, t, column[json.RawMessage], query+` ORDER BY n LIMIT $3`, args...)
	}
	entries, err := collect(ctx, t, column[json.RawMessage], query+` ORDER BY n DESC LIMIT $3`, args...)
	slices.Reverse(entries)
	return entries, err
}

func (t *Tables) LedgerHead(ctx context.Context) (envelope []byte, err error) {
	found, err := t.ReadOne(ctx, []any{&envelope}, `SELECT envelope FROM ledger_heads ORDER BY n DESC LIMIT 1`)
	return envelope, orNotFound(found, err)
}

func (t *Tables) SignLedgerHead(ctx context.Context) error {
	return t.Write(ctx, Essential, (*Work).SignLedgerHead)
}

// SignLedgerHead signs the last entry of the audit log in this transaction.
func (w *Work) SignLedgerHead() error {
	end := &w.Chain
	if end.N == end.Signed {
		return w.err
	}
	payload, err := json.Marshal(sign.LedgerHead{Hub: w.t.ID, N: end.N, Hash: end.Hash, At: schema.Millis(Millis(w.Now))})
	w.fail(err)
	envelope, err := json.Marshal(w.t.Key.Sign(schema.HeadPayload, payload))
	w.fail(err)
	w.do(`INSERT INTO ledger_heads (n, envelope) VALUES ($1, $2) ON CONFLICT (n) DO UPDATE SET envelope = excluded.envelope`, end.N, envelope)
	end.Signed = end.N
	if end.N%SignEvery == 0 {
		// The new head covers the entries of the heads in between.
		w.do(`DELETE FROM ledger_heads WHERE n > $1 AND n < $2`, end.N-SignEvery, end.N)
	}
	return w.err
}

// The data that the audit log stores about an action.

// freezeData is the part of a freeze that the audit log stores.
type freezeData struct {
	ID      int64               `json:"freeze"`
	Scope   control.FreezeScope `json:"scope,omitempty"`
	App     string              `json:"source_app,omitempty"`
	Session string              `json:"session_id,omitempty"`
	Reason  string              `json:"reason,omitempty"`
	Rule    control.FreezeRule  `json:"rule,omitempty"`
}

// grantData is the part of a grant that the audit log stores.
type grantData struct {
	ExpiresAt schema.Millis  `json:"expires_at,omitempty"`
	Event     schema.EventID `json:"event,omitempty"` // the call that ran
}

// messageData is the part of a message that the audit log stores.
type messageData struct {
	ID      int64          `json:"message"`
	App     string         `json:"source_app,omitempty"`
	Session string         `json:"session_id,omitempty"`
	Event   schema.EventID `json:"event,omitempty"` // that it was handed over with
}

// ruleData is the part of a rule that the audit log stores.
type ruleData struct {
	ID   int64  `json:"rule"`
	Text string `json:"text,omitempty"`
}

// channelData is the part of a channel that the audit log stores. It has no secrets.
type channelData struct {
	ID     int64                 `json:"id"`
	Name   string                `json:"name"`
	Kind   string                `json:"kind"`
	Person string                `json:"person,omitempty"`
	Filter *schema.ChannelFilter `json:"filter,omitempty"` // of a change of it
}

// chatAccountData is the part of a linked account that the audit log stores.
type chatAccountData struct {
	Kind    string `json:"kind"`
	Account string `json:"account"`
	Label   string `json:"label,omitempty"`
	Person  string `json:"person"`
}

// KeyData is recorded in the audit log.
type KeyData struct {
	From string `json:"from"` // key ids
	To   string `json:"to"`
}

// ByHub is the actor of records that no person, agent or rule caused.
const ByHub = "hub"

func (t *Tables) HubID() string { return t.ID }

func (t *Tables) Identity() *identity.Key { return t.Key }

func (t *Tables) KeyRotations(ctx context.Context) ([]schema.Envelope, error) {
	return collect(ctx, t, func(e *schema.Envelope) []any { return []any{JSONBytes(e)} }, `SELECT envelope FROM key_rotations ORDER BY n`)
}

// SetKey stores the public part of the hub's key, and encrypts all secrets with it that the old key decrypts.
func (w *Work) SetKey(old *identity.Key) error {
	list := channels(old).listIn(w, `ORDER BY id`)
	for i := range list {
		channels(w.t.Key).upsert(w, &list[i])
	}
	private, err := old.Decrypt(pushKeyPlace, get[string](w, `SELECT push FROM notifier`))
	w.fail(err)
	w.do(`UPDATE notifier SET push = $1`, w.t.Key.Encrypt(pushKeyPlace, private))
	w.do(`UPDATE hub SET public_key = $1`, []byte(w.t.Key.Public()))
	return w.SignLedgerHead()
}

// RemoveUnreadable removes everything that only a lost key could decrypt: the channels, whose names
// it returns, and the Web Push key with the subscriptions that depend on it.
func (w *Work) RemoveUnreadable() (channels []string, err error) {
	for _, c := range w.channelsWhere(`TRUE`) {
		w.removeChannel(c, ByHub)
		channels = append(channels, c.Name)
	}
	w.do(`DELETE FROM browsers`)
	w.do(`UPDATE notifier SET push = '', push_key = ''`)
	return channels, w.err
}

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
