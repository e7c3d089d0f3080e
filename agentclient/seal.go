package agentclient

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/hookback/hookback/agentclient/internal/transport"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// sealError reports why an answer is not from a trusted hub or not for this question. Its
// text is meant for a person.
type sealError struct {
	text      string
	untrusted bool // a hub that the account does not trust gave the answer
}

func (e *sealError) Error() string { return e.text }

// loadTrust returns the pins, which are read once.
func (c *Client) loadTrust() (*Trust, error) {
	c.trustOnce.Do(func() { c.trust, c.trustErr = LoadTrust(c.opts) })
	return c.trust, c.trustErr
}

// Trust returns the hub keys that answers of this client must be signed with.
func (c *Client) Trust() (*Trust, error) { return c.loadTrust() }

// TrustsAddress reports whether the client's addresses are those of a trusted hub: no hub
// is pinned, or one of the addresses has a pin. If not, it matters nothing whether a hub
// answers there.
func (c *Client) TrustsAddress() bool {
	c.setup()
	t, err := c.loadTrust()
	switch {
	case err != nil:
		return false
	case len(t.Pins()) == 0 || c.opts.Unsigned && !c.hubsFromEnv:
		return true
	default:
		return slices.ContainsFunc(c.hubs, t.HasOrigin)
	}
}

// verify implements pendingAsk.verify.
func (a *askRun) verify(ctx context.Context, m message) (message, error) {
	trust, err := a.client.loadTrust()
	if err != nil {
		return m, err
	}
	if len(trust.Pins()) == 0 || a.client.opts.Unsigned {
		return m, nil
	}
	decision, err := a.client.openSeal(ctx, trust, m.Seal, a.digest[:])
	if err != nil {
		return m, err
	}
	return messageOf(decision), nil
}

// openSeal returns the decision that a trusted hub signed for the question with this
// digest. The error is a *sealError.
func (c *Client) openSeal(ctx context.Context, trust *Trust, seal *schema.Envelope, ask []byte) (*sign.SignedDecision, error) {
	if seal == nil || seal.PayloadType != schema.StatementPayload {
		return nil, &sealError{"The hub at " + c.hubsInOrder()[0] + " did not sign this answer. " + c.remedy(trust), true}
	}
	err := trust.Verify(seal)
	if errors.Is(err, schema.ErrUnsigned) && c.followRotations(ctx, trust, seal) {
		err = nil
	}
	switch {
	case errors.Is(err, schema.ErrUnsigned):
		return nil, &sealError{"The answer is signed by an unknown key (" + signerOf(seal) + "). " + c.remedy(trust), true}
	case err != nil:
		return nil, &sealError{text: "The signature does not match the answer. Nothing was approved."}
	}
	var s sign.Statement
	if json.Unmarshal(seal.Payload, &s) != nil || s.Type != sign.StatementType || s.PredicateType != sign.DecisionType ||
		s.Digest(sign.AskSubject, "sha256") != hex.EncodeToString(ask) {
		return nil, &sealError{text: "The answer is for a different question than the one this agent asked. Nothing was approved."}
	}
	return &s.Predicate, nil
}

// remedy states which hub the account trusts and how to change it.
func (c *Client) remedy(trust *Trust) string {
	return "This account trusts " + trust.describe() + ". Nothing was approved. If you replaced the hub, run: hookback trust " + c.hubsInOrder()[0]
}

// signerOf returns the key id of an envelope's first signature for a message.
func signerOf(seal *schema.Envelope) string {
	if len(seal.Signatures) == 0 {
		return "no signature"
	}
	id := seal.Signatures[0].KeyID
	if raw, err := hex.DecodeString(id); err != nil || len(raw) != 8 {
		return "an invalid key id"
	}
	return id
}

// followRotations reports whether a pinned key was replaced by the one that signed seal. It
// asks each address for its chain of rotations, and replaces the pin.
func (c *Client) followRotations(ctx context.Context, trust *Trust, seal *schema.Envelope) bool {
	ctx, cancel := context.WithTimeout(ctx, c.timings.postTimeout)
	defer cancel()
	return slices.ContainsFunc(c.hubsInOrder(), func(hub string) bool {
		identity, err := c.fetchIdentity(ctx, hub, "")
		return err == nil && trust.follow(identity.Rotations, func(key ed25519.PublicKey) bool {
			return seal.Verify(schema.StatementPayload, key) == nil
		})
	})
}

// messageOf returns the message that a signed decision stands for.
func messageOf(d *sign.SignedDecision) message {
	a := d.Answer
	return message{
		answer: schema.Response{
			Permission: a.Permission, Response: a.Response, Choice: a.Choice, Answers: a.Answers,
			Reason: a.Reason, Comment: a.Comment, ModifiedArguments: a.ModifiedArguments, Remember: a.Remember,
			Interrupt: a.Interrupt,
		},
		AnswerID: d.AnswerID, RespondedAt: d.RespondedAt, RespondedBy: d.RespondedBy, Outcome: d.Outcome, Source: d.Source, Guidance: d.Guidance,
		HookEvent: fmt.Appendf(nil, `{"id":%d}`, d.EventID),
		Votes:     d.Votes, Awaiting: d.Awaiting, RequiredApprovals: d.RequiredApprovals,
		signed: true,
	}
}

// errNoIdentity reports a hub without a key: a version 1 server, or an earlier hub.
var errNoIdentity = errors.New("this hub has no key")

// fetchIdentity fetches a hub's unverified key and its rotations, without the token.
func (c *Client) fetchIdentity(ctx context.Context, hub, nonce string) (identity sign.HubKey, err error) {
	path := schema.PathHub
	if nonce != "" {
		path += "?nonce=" + url.QueryEscape(nonce)
	}
	reply, err := c.sendRequest(ctx, transport.Request{Hub: hub, Path: path, Anonymous: true})
	switch {
	case err != nil && (errors.Is(err, transport.ErrNotHub) || transport.IsRejection(err)):
		return identity, fmt.Errorf("%w (%s): %w", errNoIdentity, hub, err)
	case err != nil:
		return identity, err
	}
	if err := json.Unmarshal(reply.Body, &identity); err != nil {
		return identity, transport.Errorf(transport.ErrNotHub, "the reply of %s to GET %s is not that of a hub", hub, path)
	}
	return identity, nil
}

// Identify returns the key of the hub at an address, which the hub proves that it holds.
// It does not trust the key. The error is schema.ErrNoRoute for a hub without a key, and
// ErrUnreachable if none answers.
func (c *Client) Identify(ctx context.Context, hub string) (Pin, error) {
	endCall, err := c.beginCall()
	if err != nil {
		return Pin{}, err
	}
	defer endCall()
	ctx, cancel := context.WithTimeout(ctx, c.timings.postTimeout)
	defer cancel()
	pin, _, err := c.identify(ctx, hub)
	if errors.Is(err, errNoIdentity) {
		return Pin{}, fmt.Errorf("%w: the hub at %s has no key; it is older than this program", schema.ErrNoRoute, hub)
	}
	return pin, callerError(err)
}

// identify returns the key that the hub proves to hold, and the rotations that led to it.
func (c *Client) identify(ctx context.Context, hub string) (Pin, []schema.Envelope, error) {
	nonce := transport.RandomToken(32)
	identity, err := c.fetchIdentity(ctx, hub, nonce)
	if err != nil {
		return Pin{}, nil, err
	}
	origin, err := originOf(hub)
	if err != nil {
		return Pin{}, nil, err
	}
	key, err := sign.ParsePublicKey(identity.PublicKey)
	var hello sign.HubHello
	if err != nil || identity.Proof == nil || identity.Proof.Verify(schema.HelloPayload, key) != nil ||
		json.Unmarshal(identity.Proof.Payload, &hello) != nil || hello.Nonce != nonce || hello.KeyID != schema.KeyID(key) {
		return Pin{}, nil, transport.Errorf(transport.ErrNotHub, "%s does not prove that it holds its key", hub)
	}
	return Pin{Origin: origin, Key: key}, identity.Rotations, nil
}

// CheckHub returns an error unless the hub at an address may be believed without a signature
// on each of its messages: no hub is pinned, or the address has a pin and the hub proves that
// it holds a pinned key. If no hub is pinned yet, it makes first contact. An address in code
// needs no pin. It is for protocols whose answers can't be signed, such as MCP.
func (c *Client) CheckHub(ctx context.Context, hub string) error {
	endCall, err := c.beginCall()
	if err != nil {
		return err
	}
	defer endCall()
	trust, err := c.loadTrust()
	if err != nil || c.opts.Unsigned {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timings.postTimeout)
	defer cancel()
	if err := c.firstContact(ctx, hub); err != nil {
		return callerError(err)
	}
	switch {
	case len(trust.Pins()) == 0:
		return nil
	case c.hubsFromEnv && !trust.HasOrigin(hub):
		// A server there could pass on the trusted hub's proof.
		return &sealError{"The hub at " + hub + " is not a trusted one. " + c.remedy(trust), true}
	}
	pin, rotations, err := c.identify(ctx, hub)
	isPinned := func(p Pin) bool { return p.Key.Equal(pin.Key) }
	switch {
	case errors.Is(err, errNoIdentity):
		return &sealError{"The hub at " + hub + " has no key. " + c.remedy(trust), true}
	case err != nil:
		return callerError(err)
	case slices.ContainsFunc(trust.Pins(), isPinned) ||
		trust.follow(rotations, func(k ed25519.PublicKey) bool { return k.Equal(pin.Key) }):
		return nil
	default:
		return &sealError{"The hub at " + hub + " has an unknown key (" + pin.KeyID() + "). " + c.remedy(trust), true}
	}
}

// firstContact pins the key of the hub at an address if the account trusts no hub yet. It
// does nothing for an address from the environment, and for a hub without a key.
func (c *Client) firstContact(ctx context.Context, hub string) error {
	trust, err := c.loadTrust()
	if err != nil || c.hubsFromEnv || c.opts.Unsigned || trust.File() == "" || len(trust.Pins()) > 0 {
		return nil //nolint:nilerr // a broken pin file fails the question itself
	}
	if _, known := c.contacted.Load(hub); known {
		return nil
	}
	pin, _, err := c.identify(ctx, hub)
	switch {
	case errors.Is(err, errNoIdentity):
		c.contacted.Store(hub, true)
		return nil
	case err != nil:
		return err
	}
	if trust.rememberFirst(pin) && c.opts.OnFirstContact != nil {
		c.opts.OnFirstContact(pin)
	}
	return nil
}
