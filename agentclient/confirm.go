package agentclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
)

// Confirm makes a tool that is called twice: the first call says what would happen,
// the second, with the receipt of a person's yes, makes it happen. It is for agents
// that talk with a person anyway; where they don't, use Guard.
//
// A receipt is proof. It is made when a person says yes, be it in the hub (Ask) or in
// a chat (Reply), is good for one call with exactly the arguments that the person
// saw, and ends by itself. A model can't make one: "confirmed": true is an argument
// like any other.
//
// Tool is required, and Client for Ask. A Confirm must not be copied. Its methods may
// be called from many goroutines. What waits is kept in memory, so a restart forgets
// it and asks anew.
type Confirm[T any] struct {
	Client *Client
	Tool   Tool[T]
	// Describe says in one sentence what a call would do, and what a person should know
	// to decide: the title of the page, how many there are. An error of it ends the
	// call. Default: the tool's name.
	Describe func(ctx context.Context, call ToolCall) (what string, facts map[string]any, err error)
	// Expires is how long a person has, and then how long the receipt is good.
	// Default: schema.DefaultTimeout.
	Expires time.Duration

	mu      sync.Mutex
	entries map[string]*pendingConfirmation // :: id of a confirmation, or receipt → what it is for
}

// Confirmation is what a person has to confirm.
type Confirmation struct {
	ID        string          `json:"id"`
	Summary   string          `json:"what"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Facts     map[string]any  `json:"facts,omitempty"`
	Expires   time.Time       `json:"expires"`
}

// pendingConfirmation is a confirmation that waits for its yes, or for its second call.
type pendingConfirmation struct {
	Confirmation
	call     ToolCall
	args     *jsonNode
	approved bool // a person said yes, and the key is the receipt
}

// receiptArgument is where the second call has its receipt.
const receiptArgument = "receipt"

// maxPendingConfirmations bounds what waits; the one that ends first makes room.
const maxPendingConfirmations = 1000

// Call is one call of the tool, the first or the second: the second has the receipt
// in its argument "receipt", which the tool itself doesn't see. A receipt that is
// unknown, used, too old or for other arguments is a first call again.
func (c *Confirm[T]) Call(ctx context.Context, call ToolCall) (Result[T], error) {
	arguments, receipt, err := extractReceipt(call.Arguments)
	if err != nil {
		return Result[T]{Status: Unconfirmed}, err
	}
	call.Arguments = arguments
	args, err := parseJSON(arguments)
	if err != nil {
		return Result[T]{Status: Unconfirmed}, fmt.Errorf("%w: the arguments: %w", schema.ErrInvalid, err)
	}
	reason := ""
	if receipt != "" {
		if confirmed, ok := c.redeem(receipt, call, args); ok {
			confirmed.ID = call.ID
			return runTool(ctx, c.Tool, confirmed, Result[T]{Guidance: "A person confirmed this."})
		}
		reason = "This is not the receipt of a yes to exactly these arguments: it is unknown, too old, used, or for others."
	}
	confirmation, err := c.createConfirmation(ctx, call, args)
	if err != nil {
		return Result[T]{Status: Unconfirmed}, err
	}
	return Result[T]{
		Status: Unconfirmed, Reason: reason, RequiresConfirmation: confirmation,
		Guidance: "Nothing was run yet. Tell the person what would happen and wait for their answer; " +
			"then call again with the same arguments and the receipt of their yes.",
	}, nil
}

// createConfirmation keeps a call until a person has confirmed it.
func (c *Confirm[T]) createConfirmation(ctx context.Context, call ToolCall, args *jsonNode) (*Confirmation, error) {
	summary, facts := fmt.Sprintf("Run %s?", call.Name), map[string]any(nil)
	if c.Describe != nil {
		var err error
		if summary, facts, err = c.Describe(ctx, call); err != nil {
			return nil, err
		}
	}
	entry := &pendingConfirmation{call: call, args: args, Confirmation: Confirmation{
		ID: randomToken(16), Summary: summary, Tool: call.Name, Arguments: call.Arguments, Facts: facts, Expires: time.Now().Add(c.lifetime()),
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

// findPending is the confirmation that still waits for a yes.
func (c *Confirm[T]) findPending(id string) (*pendingConfirmation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.findPendingLocked(id)
}

func (c *Confirm[T]) findPendingLocked(id string) (*pendingConfirmation, error) {
	entry := c.entries[id]
	if entry == nil || entry.approved || !time.Now().Before(entry.Expires) {
		return nil, fmt.Errorf("%w: no confirmation waits under this id; it may be answered, or too old", schema.ErrNotFound)
	}
	return entry, nil
}

// Ask asks a person in the hub, and gives the receipt of their yes. Without a yes
// there is none, and the Decision says why; after a no the confirmation is gone.
func (c *Confirm[T]) Ask(ctx context.Context, id string) (receipt string, d Decision, err error) {
	entry, err := c.findPending(id)
	if err != nil {
		return "", Decision{Kind: schema.Permission, Outcome: Rejected, Source: NotAsked}, err
	}
	r := questionFor(entry.call, PolicyResult{}, nil)
	r.ToolCall.Editable = false // the second call has the arguments of the first
	r.Question, r.Timeout = entry.Summary, time.Until(entry.Expires)
	// An answer that no person gave, without a hub, is no proof.
	r.OnUnreachable = Deny
	if len(entry.Facts) > 0 {
		facts, err := json.MarshalIndent(entry.Facts, "", "  ")
		if err != nil {
			return "", Decision{Kind: schema.Permission, Outcome: Rejected, Source: NotAsked}, fmt.Errorf("%w: the facts: %w", schema.ErrInvalid, err)
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
			err = nil // answered in the chat meanwhile
		}
		return "", d, err
	default:
		return "", d, nil
	}
}

// Reply takes a person's answer in a chat: their own words, as they came, never a
// model's. A yes gives the receipt, a no ends the confirmation, and after anything
// else it still waits (see ParseReply).
func (c *Confirm[T]) Reply(id, words string) (receipt string, reply Reply, err error) {
	reply = ParseReply(words)
	if reply == ReplyUnclear {
		_, err = c.findPending(id)
		return "", reply, err
	}
	receipt, err = c.resolve(id, reply)
	return receipt, reply, err
}

// resolve ends the waiting; a yes begins the time of its receipt.
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
	receipt = "receipt-" + randomToken(32)
	entry.approved, entry.Expires = true, time.Now().Add(c.lifetime())
	c.entries[receipt] = entry
	return receipt, nil
}

// redeem uses up a receipt, if it is for this call.
func (c *Confirm[T]) redeem(receipt string, call ToolCall, args *jsonNode) (ToolCall, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.entries[receipt]
	switch {
	case entry == nil || !entry.approved || !time.Now().Before(entry.Expires):
		return ToolCall{}, false
	case entry.call.Name != call.Name || !entry.args.equals(args):
		return ToolCall{}, false // kept: the right call may still come
	}
	delete(c.entries, receipt)
	return entry.call, true
}

// extractReceipt takes the receipt out of a call's arguments, and makes a copy of them.
func extractReceipt(arguments json.RawMessage) (rest json.RawMessage, receipt string, err error) {
	arguments = argumentsOrEmpty(arguments)
	node, err := parseJSON(arguments)
	switch {
	case err != nil || node.kind != jsonObject:
		return nil, "", fmt.Errorf("%w: the arguments are no JSON object", schema.ErrInvalid)
	case node.hasAmbiguousNames():
		return nil, "", fmt.Errorf("%w: the arguments have a name twice, or one in two cases", schema.ErrInvalid)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &members); err != nil {
		return nil, "", fmt.Errorf("%w: the arguments: %w", schema.ErrInvalid, err)
	}
	value, found := members[receiptArgument]
	if !found {
		return slices.Clone(arguments), "", nil
	}
	if json.Unmarshal(value, &receipt) != nil || receipt == "" {
		receipt = "none" // it is there, and no receipt
	}
	delete(members, receiptArgument)
	rest, err = json.Marshal(members)
	return rest, receipt, err
}

// equals reports whether two values are the same to everyone who reads JSON: the order
// of an object's members doesn't count, the digits of a number do.
func (n *jsonNode) equals(other *jsonNode) bool {
	if n.kind != other.kind || n.value != other.value || len(n.members) != len(other.members) || len(n.items) != len(other.items) {
		return false
	}
	theirs := make(map[string]*jsonNode, len(other.members))
	for _, m := range other.members {
		theirs[m.name] = m.value
	}
	for _, m := range n.members {
		if theirs[m.name] == nil || !m.value.equals(theirs[m.name]) {
			return false
		}
	}
	for i, item := range n.items {
		if !item.equals(other.items[i]) {
			return false
		}
	}
	return true
}
