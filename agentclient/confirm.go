package agentclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/internal/transport"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
)

// Confirm wraps a tool so that it takes two calls: the first describes the effect, the
// second runs it with the receipt of a person's approval. Use it for agents that chat
// with a person anyway, and Guard for all others.
//
// A receipt proves the approval. It is issued when a person approves in the hub (Ask)
// or in a chat (Reply), is valid for one call with exactly the arguments that the person
// saw, and expires. A model can't create one; "confirmed": true is an ordinary argument.
//
// Tool is required; Client is required for Ask. A Confirm must not be copied and is safe
// for concurrent use. Confirmations are kept in memory, so they must be repeated after
// a restart.
type Confirm[T any] struct {
	Client *Client
	Tool   Tool[T]
	// Describe returns one sentence about the effect of a call, and facts that a
	// person needs to decide, such as a page title or a number of rows. An error ends
	// the call. Default: a sentence with the tool's name.
	Describe func(ctx context.Context, call ToolCall) (summary string, facts map[string]any, err error)
	// Expires limits the time to answer, and again the validity of the receipt.
	// Default: schema.DefaultTimeout.
	Expires time.Duration

	mu      sync.Mutex
	entries map[string]*pendingConfirmation // key: confirmation id, or receipt once approved
}

// Confirmation describes a call that a person must confirm.
type Confirmation struct {
	ID        string          `json:"id"`
	Summary   string          `json:"summary"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Facts     map[string]any  `json:"facts,omitempty"`
	Expires   time.Time       `json:"expires"`
}

// UnmarshalJSON also reads the summary of earlier versions, which is named what.
func (c *Confirmation) UnmarshalJSON(b []byte) error {
	type plain Confirmation
	members := struct {
		*plain
		What string `json:"what"`
	}{plain: (*plain)(c)}
	err := json.Unmarshal(b, &members)
	c.Summary = cmp.Or(c.Summary, members.What)
	return err
}

// pendingConfirmation is a call that waits for a person's approval, and then for the
// second call.
type pendingConfirmation struct {
	Confirmation
	call     ToolCall
	args     any  // decoded for comparisons
	approved bool // a person approved, and the key is the receipt
}

// receiptArgument is the argument of the second call that holds the receipt.
const receiptArgument = "receipt"

// maxPendingConfirmations limits memory. If it is reached, the confirmation that expires
// first is dropped.
const maxPendingConfirmations = 1000

// Call handles both calls of the tool. The second call has the receipt in its "receipt"
// argument, which is removed before the tool runs. A call with a receipt that is unknown,
// used, expired or issued for other arguments is treated as a first call.
func (c *Confirm[T]) Call(ctx context.Context, call ToolCall) (Result[T], error) {
	arguments, args, receipt, err := readConfirmed(call.Arguments)
	if err != nil {
		return Result[T]{Status: Unconfirmed}, err
	}
	call.Arguments = arguments
	reason := ""
	if receipt != "" {
		if confirmed, ok := c.redeem(receipt, call, args); ok {
			confirmed.ID = call.ID
			return runTool(ctx, c.Tool, confirmed, Result[T]{Guidance: "A person confirmed this call."})
		}
		reason = "The receipt is not valid for this call: it is unknown, expired, already used, or was issued for other arguments."
	}
	confirmation, err := c.createConfirmation(ctx, call, args)
	if err != nil {
		return Result[T]{Status: Unconfirmed}, err
	}
	return Result[T]{
		Status: Unconfirmed, Reason: reason, RequiresConfirmation: confirmation,
		Guidance: "Nothing was run yet. Tell the person what would happen and wait for their answer. " +
			"Then call again with the same arguments and the receipt of their approval.",
	}, nil
}

// createConfirmation stores a call until a person confirms it.
func (c *Confirm[T]) createConfirmation(ctx context.Context, call ToolCall, args any) (*Confirmation, error) {
	summary, facts := fmt.Sprintf("Run %s?", call.Name), map[string]any(nil)
	if c.Describe != nil {
		var err error
		if summary, facts, err = c.Describe(ctx, call); err != nil {
			return nil, err
		}
	}
	entry := &pendingConfirmation{call: call, args: args, Confirmation: Confirmation{
		ID: transport.RandomToken(16), Summary: summary, Tool: call.Name, Arguments: call.Arguments, Facts: facts, Expires: time.Now().Add(c.lifetime()),
	}}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evictLocked()
	c.entries[entry.ID] = entry
	shown := entry.Confirmation
	return &shown, nil
}

func (c *Confirm[T]) lifetime() time.Duration {
	if c.Expires > 0 {
		return c.Expires
	}
	return schema.DefaultTimeout
}

func (c *Confirm[T]) evictLocked() {
	if c.entries == nil {
		c.entries = make(map[string]*pendingConfirmation)
	}
	now, earliest := time.Now(), ""
	for key, entry := range c.entries {
		switch {
		case !now.Before(entry.Expires):
			delete(c.entries, key)
		case earliest == "" || entry.Expires.Before(c.entries[earliest].Expires):
			earliest = key
		}
	}
	if len(c.entries) >= maxPendingConfirmations {
		delete(c.entries, earliest)
	}
}

// findPending returns a confirmation that no person has answered yet.
func (c *Confirm[T]) findPending(id string) (*pendingConfirmation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.findPendingLocked(id)
}

func (c *Confirm[T]) findPendingLocked(id string) (*pendingConfirmation, error) {
	entry := c.entries[id]
	if entry == nil || entry.approved || !time.Now().Before(entry.Expires) {
		return nil, fmt.Errorf("%w: no pending confirmation has this id; it may be answered or expired", schema.ErrNotFound)
	}
	return entry, nil
}

// Ask asks a person through the hub and returns the receipt if they approve. Otherwise
// receipt is empty and d holds the reason. A denial ends the confirmation; a timeout
// does not.
func (c *Confirm[T]) Ask(ctx context.Context, id string) (receipt string, d Decision, err error) {
	entry, err := c.findPending(id)
	if err != nil {
		return "", Decision{Kind: schema.Permission, Outcome: Rejected, Source: NotAsked}, err
	}
	r := questionFor(entry.call, policy.Result{}, nil)
	r.Question, r.Timeout = entry.Summary, time.Until(entry.Expires)
	// Without a hub no person answered, so an Allow fallback must not issue a receipt.
	r.OnUnreachable = Deny
	if len(entry.Facts) > 0 {
		facts, err := json.MarshalIndent(entry.Facts, "", "  ")
		if err != nil {
			return "", Decision{Kind: schema.Permission, Outcome: Rejected, Source: NotAsked}, fmt.Errorf("%w: encode facts: %w", schema.ErrInvalid, err)
		}
		r.Context = &schema.Context{Why: string(facts)}
	}
	d, err = c.Client.Ask(ctx, r)
	switch {
	case err != nil:
		return "", d, err
	case d.Approved():
		receipt, err = c.resolve(id, ReplyYes)
		return receipt, d, err
	case d.Outcome == schema.Deny:
		_, err = c.resolve(id, ReplyNo)
		if errors.Is(err, schema.ErrNotFound) {
			err = nil // answered in the chat in the meantime
		}
		return "", d, err
	default:
		return "", d, nil
	}
}

// Reply applies a person's answer from a chat. words must be their unmodified message,
// never a model's summary. An approval returns the receipt, a refusal ends the
// confirmation, and after any other text it stays pending (see ParseReply).
func (c *Confirm[T]) Reply(id, words string) (receipt string, reply Reply, err error) {
	reply = ParseReply(words)
	if reply == ReplyUnclear {
		_, err = c.findPending(id)
		return "", reply, err
	}
	receipt, err = c.resolve(id, reply)
	return receipt, reply, err
}

// resolve ends a pending confirmation. After an approval it issues the receipt.
func (c *Confirm[T]) resolve(id string, reply Reply) (receipt string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, err := c.findPendingLocked(id)
	if err != nil {
		return "", err
	}
	delete(c.entries, id)
	if reply != ReplyYes {
		return "", nil
	}
	receipt = "receipt-" + transport.RandomToken(32)
	entry.approved, entry.Expires = true, time.Now().Add(c.lifetime())
	c.entries[receipt] = entry
	return receipt, nil
}

// redeem consumes a receipt and returns the confirmed call, if the receipt is valid for
// this call.
func (c *Confirm[T]) redeem(receipt string, call ToolCall, args any) (ToolCall, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.entries[receipt]
	switch {
	case entry == nil || !entry.approved || !time.Now().Before(entry.Expires):
		return ToolCall{}, false
	case entry.call.Name != call.Name || !reflect.DeepEqual(entry.args, args):
		return ToolCall{}, false // keep the receipt: the matching call may still come
	}
	delete(c.entries, receipt)
	return entry.call, true
}

// readConfirmed returns a copy of the arguments without the receipt, their members for
// comparisons, with numbers as written, and the receipt. A model may add confirmed to the
// second call, as some prompts ask it to; the receipt decides.
func readConfirmed(arguments json.RawMessage) (rest json.RawMessage, args map[string]any, receipt string, err error) {
	arguments = argumentsOrEmpty(arguments)
	if err := checkArguments(arguments); err != nil {
		return nil, nil, "", fmt.Errorf("%w: %w", schema.ErrInvalid, err)
	}
	var members map[string]json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(arguments))
	decoder.UseNumber()
	if err := errors.Join(json.Unmarshal(arguments, &members), decoder.Decode(&args)); err != nil {
		return nil, nil, "", fmt.Errorf("%w: %w", schema.ErrInvalid, err)
	}
	value, found := members[receiptArgument]
	delete(args, receiptArgument)
	delete(args, "confirmed")
	if !found {
		return slices.Clone(arguments), args, "", nil
	}
	if json.Unmarshal(value, &receipt) != nil || receipt == "" {
		receipt = "none" // present but invalid; it matches no receipt
	}
	delete(members, receiptArgument)
	rest, err = json.Marshal(members)
	return rest, args, receipt, err
}

// argumentsOrEmpty returns the arguments of a call, or an empty object if there are none.
func argumentsOrEmpty(arguments json.RawMessage) json.RawMessage {
	if text := bytes.TrimSpace(arguments); len(text) == 0 || string(text) == "null" {
		return json.RawMessage("{}")
	}
	return arguments
}

// checkArguments returns an error unless the arguments of a call are a JSON object that every
// program reads alike: without names that are equal or differ only in case.
func checkArguments(arguments []byte) error {
	switch node, err := call.ParseValue(arguments, 100); {
	case err != nil || node.Kind() != call.ObjectKind:
		return errors.New("the arguments must be a JSON object")
	case node.HasAmbiguousNames():
		return errors.New("the arguments have a duplicate name, or names that differ only in case")
	default:
		return nil
	}
}
