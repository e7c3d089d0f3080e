package question

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/store"
)

// Post is a question as an agent posted it.
type Post struct {
	Ask            *schema.HumanInTheLoop // as stored, after redaction
	Body           []byte                 // of the whole event, before redaction
	Sent           sign.AskParts          // of the body
	IsRedacted     bool                   // the stored event differs from the body
	Call           *Call                  // what CallOf returns for it, as stored
	SentCall       *Call                  // before redaction; nil: nothing was redacted, or the question sent can't be decoded
	Approvers      []string               // all accounts that may answer; needed if IsRestricted, or with Environment.Defaults
	IsAway         func(name string) bool // the person has quiet hours, and no page open; nil: no one
	Requester      string                 // authenticated name of the requester; empty: unknown
	WaitsForAnswer bool                   // the request itself waits for the answer
	Retries        bool                   // with WaitsForAnswer: it is sent again if its connection breaks
	Blocked        error                  // why the callback URL may not be dialed; nil if it may
	IsProbe        bool                   // hookback doctor sent it with a ticket
	Follows        schema.EventID         // the question about the same call that was answered with askBack; 0: none
}

// takesChoiceAsText reports whether q was a choice without labels: the sample client of the integration guide sends null
// for choices with every kind. It is stored as a question with a text, and its agent reads the answer from choice.
func takesChoiceAsText(q *schema.HumanInTheLoop) bool {
	return q.Type == schema.FreeText && q.AllowOther && !q.Acknowledges()
}

// probeLifetime is how long a question of hookback doctor can stay open.
const probeLifetime = time.Minute

// New validates a posted question and adds it to the draft of its event, as one that is pending
// since the draft's ReceivedAt.
func New(d *store.EventDraft, p *Post, env *Environment) error {
	q := p.Ask
	if q.Type == schema.Choice && q.Choices == nil && !q.Acknowledges() {
		q.Type, q.AllowOther = schema.FreeText, true // takesChoiceAsText
	}
	if err := q.Validate(); err != nil {
		return err
	}
	if p.IsProbe && (q.Type != schema.Permission || q.Appeal != nil || IsRestricted(q) || q.EscalateTo != nil) {
		return invalidField("humanInTheLoop.type", "with a ticket of hookback doctor must be a permission that anyone may deny")
	}
	st := schema.Status{
		Status: schema.Pending, Revision: 1, Risk: q.Risk, Follows: p.Follows, Test: d.App == schema.TestApp, Probe: p.IsProbe,
	}
	if p.Call.Exists() {
		p.Call.assess(&st, q)
		if p.SentCall != nil {
			addRedactionFinding(&st, p.Call, p.SentCall)
		}
	}
	recipients, err := p.applyDefaults(env, &st)
	if err != nil {
		return err
	}
	st.RequiredApprovals, st.Recipients, st.Awaiting = q.RequiredApprovals, recipients, recipients
	p.addFallback(env, &st, d.ReceivedAt)
	if err := env.checkEscalation(q); err != nil {
		return err
	}
	if d.Question, err = json.Marshal(q.Redacted()); err != nil {
		return fmt.Errorf("encode question: %w", err)
	}
	deadline := q.Deadline(d.ReceivedAt)
	if latest := d.ReceivedAt.Add(probeLifetime); p.IsProbe && (deadline.IsZero() || deadline.After(latest)) {
		deadline = latest
	}
	if !deadline.IsZero() {
		st.ExpiresAt = schema.Millis(deadline.UnixMilli())
	}
	updateWaiter(&st, q.ResponseWebSocketURL, q.ProtocolVersion, p.Blocked)
	d.NewQuestion = &store.NewQuestion{
		URL: q.ResponseWebSocketURL, ListenerKey: q.ListenerKey, Protocol: max(q.ProtocolVersion, 1),
		Deadline: deadline, Text: q.Question, Requester: p.Requester,
		Timers:         env.newTimers(q, d.ReceivedAt, deadline),
		SharedListener: sharedListener(d, q, p.Requester),
	}
	switch {
	case p.WaitsForAnswer:
		st.Waiter, d.NewQuestion.Lifeline = schema.Listening, store.ByRequest
		if p.Retries {
			d.NewQuestion.Lifeline = store.ByRetry
		}
	case q.Lifeline && q.Acknowledges() && q.ResponseWebSocketURL != "":
		d.NewQuestion.Lifeline = store.ByListener
	}
	if p.Call.Exists() {
		d.NewQuestion.Call = p.Call.Hash()
		if q.Appeal != nil {
			refused := cmp.Or(p.SentCall, p.Call)
			digest := control.Digest(refused.Name, refused.Arguments)
			if q.Appeal.Later {
				digest = control.LaterDigest(digest, refused.Cwd, p.Call.Facts.AgentID)
			}
			d.NewQuestion.Appeal = env.StoredDigest(digest)
		}
		if !p.IsProbe { // the answer to another question is none to this one
			d.NewQuestion.DuplicateKey = duplicateKey(d, q, &st, p.Call)
		}
	}
	if d.Status, err = json.Marshal(st); err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	return env.addHashes(d, p)
}

// applyDefaults completes the question by the hub's settings as far as people can decide it then, and
// returns the people that it is addressed to.
func (p *Post) applyDefaults(env *Environment, st *schema.Status) ([]string, error) {
	if env.Defaults == nil || st.Probe || st.Test {
		return p.addressees(env, st)
	}
	stated := *p.Ask
	for _, c := range env.Defaults.Complete(&stated, p.Call, st.Class, st.Risk) {
		*p.Ask = c.Ask
		if p.Ask.Validate() != nil {
			continue
		}
		if recipients, err := p.addressees(env, st); err == nil {
			st.Defaults = c.Applied
			return recipients, nil
		}
	}
	*p.Ask = stated
	return p.addressees(env, st)
}

// addHashes adds the hashes of the POST, which decide whether a repeat is the same request.
func (env *Environment) addHashes(d *store.EventDraft, p *Post) error {
	ask, err := p.Sent.Digest()
	if err != nil {
		return WithFieldPrefix("humanInTheLoop", err)
	}
	d.NewQuestion.AskHash = ask[:]
	if p.IsRedacted && p.Ask.Nonce == "" {
		// Readers of the ledger see this hash. Without a nonce they could test guesses at
		// the redacted secret against it.
		d.NewQuestion.AskHash = env.keyedHash("question hashes", ask[:])
	}
	d.NewQuestion.HasNonce = p.Ask.Nonce != ""
	d.NewQuestion.BodyHash = env.keyedHash("body hashes", p.Body)
	d.NewQuestion.SecretHash = schema.RequestSecretHash(cmp.Or(p.Ask.RequestSecret, env.RequestSecret(d.UID)))
	return nil
}

// WithFieldPrefix adds the name of the member outer to the field of a schema.FieldError.
func WithFieldPrefix(outer string, err error) error {
	var f *schema.FieldError
	if !errors.As(err, &f) {
		return err
	}
	field := outer
	if f.Field != "" {
		field += "." + f.Field
	}
	return &schema.FieldError{Field: field, Detail: f.Detail, Cause: f.Cause}
}

// Duplicates: identical questions about the same call that are pending in one session
// form a group, which the dashboard shows as one request. The first question is the
// group leader. Its status counts the group in Waiters, and every duplicate that joins
// creates a new revision of it. The revision of an answer therefore shows which
// duplicates the person saw. The answer settles those, each with its own answer and
// delivery, and later ones stay pending. So does a cancellation that names a revision. Any
// other resolution settles only one question. The leader of a group is a question whose
// agent waits, if there is one (store).

// duplicateKey returns a hash of the question's content. It is nil if the question
// can't join a group: it is an appeal or addressed to certain people, or it contains redacted text, which
// may differ between questions that look equal.
func duplicateKey(d *store.EventDraft, q *schema.HumanInTheLoop, st *schema.Status, c *Call) []byte {
	if q.Appeal != nil || IsRestricted(q) || q.EscalateTo != nil || len(st.Recipients) > 0 ||
		bytes.Contains(d.Question, []byte(schema.RedactedPrefix)) || bytes.Contains(c.Arguments, []byte(schema.RedactedPrefix)) {
		return nil
	}
	commit := "" // the receipt of each member names its own
	if q.Context != nil {
		commit = q.Context.Commit
	}
	var consequence *schema.Consequence // of each member, as above
	if q.ToolCall != nil {
		consequence = q.ToolCall.Consequence
	}
	raw, err := json.Marshal([]any{
		d.App, d.Session, d.Type, q.Type, q.Question, q.Choices, q.AllowOther, q.Questions, d.NewQuestion.Call, c.Cwd, q.ToolCall != nil && q.ToolCall.Editable,
		q.ReasonRequired, q.Suggestions, st.Risk, q.Risk, d.NewQuestion.Requester, commit, q.Interruptible, st.Follows, consequence,
	})
	if err != nil { // unreachable: validation rejects suggestions that are not JSON
		return nil
	}
	sum := sha256.Sum256(raw)
	return sum[:16]
}

// sharedListener returns a hash that is equal for questions whose answers the listener of a
// version 1 agent can't distinguish. The sample client of the integration guide gives an
// answer to the newest question with its permission_type, and another agent has another address.
// It is nil for other questions: one without a callback address has no listener, and one without
// a permission_type has a separate listener.
func sharedListener(d *store.EventDraft, q *schema.HumanInTheLoop, requester string) []byte {
	if q.Acknowledges() || q.ResponseWebSocketURL == "" {
		return nil
	}
	var payload map[string]json.RawMessage
	var permissionType string
	if json.Unmarshal(d.Payload, &payload) != nil || json.Unmarshal(payload["permission_type"], &permissionType) != nil || permissionType == "" {
		return nil
	}
	raw, err := json.Marshal([]string{d.App, d.Session, permissionType, requester, listenerAddress(q.ResponseWebSocketURL)})
	if err != nil { // unreachable: strings can be encoded
		return nil
	}
	sum := sha256.Sum256(raw)
	return sum[:16]
}

// listenerAddress returns one spelling of a listener's address. All names of this machine are one, and so are ws and wss.
func listenerAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil { // unreachable: validation rejects it
		return address
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if socket.IsLoopback(host) {
		host = "localhost"
	}
	return host + " " + u.Port() + u.RequestURI()
}

// resolveRecipients returns the people that a question is addressed to, as of now:
// accounts created later are not included. Nil means everyone who may answer. It
// rejects a question that these people can't decide, because that could only end at its
// deadline.
func (p *Post) resolveRecipients(env *Environment) ([]string, error) {
	q, to := p.Ask, p.Ask.Recipients
	if !IsRestricted(q) {
		return nil, nil
	}
	if to == nil || to.Mode == "" && !to.Owners {
		to = &schema.Recipients{Mode: "owner_admins"}
	}
	if !env.Accounts.Access().HasOwner {
		field := "requiredApprovals"
		if namesRecipients(q) {
			field = "recipients.mode"
		}
		return nil, &schema.HintError{
			Err:  invalidField("humanInTheLoop."+field, "requires accounts, and this hub has none yet"),
			Hint: "Open the sign-in link that the hub printed when it started (a restart prints a new one), invite others under Team, People, then ask again.",
		}
	}
	names, err := env.Accounts.ResolveRecipients(to)
	if err != nil {
		return nil, err
	}
	everyone := names == nil
	if everyone {
		names = p.Approvers
	}
	if excludesRequester(q) {
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == p.Requester })
	}
	switch n := len(names); {
	case n == 0:
		return nil, invalidField("humanInTheLoop.recipients", "leaves no one who may answer; the requester is excluded unless excludeRequester is false")
	case n > schema.MaxRecipients:
		return nil, invalidField("humanInTheLoop.recipients", "has more than %d people", schema.MaxRecipients)
	case q.RequiredApprovals > n:
		return nil, &schema.HintError{
			Err:  invalidField("humanInTheLoop.requiredApprovals", "is %d, but only %s may vote", q.RequiredApprovals, personCount(n)),
			Hint: "Require fewer approvals or add recipients.",
		}
	}
	if everyone {
		return nil, nil // each account that exists now (isLaterAccount)
	}
	return names, nil
}

// IsRestricted reports whether q is addressed to certain people or needs several approvals.
func IsRestricted(q *schema.HumanInTheLoop) bool {
	return q.RequiredApprovals > 1 || namesRecipients(q)
}

func namesRecipients(q *schema.HumanInTheLoop) bool {
	return q.Recipients != nil && q.Recipients.Mode != "" && q.Recipients.Mode != "anyone"
}

// checkEscalation rejects an escalation to unknown people.
func (env *Environment) checkEscalation(q *schema.HumanInTheLoop) error {
	_, err := env.Accounts.ResolveRecipients(q.EscalateTo)
	var field *schema.FieldError
	if errors.As(err, &field) {
		renamed := *field
		renamed.Field = strings.Replace(field.Field, ".recipients", ".escalateTo", 1)
		return &renamed
	}
	return err
}
