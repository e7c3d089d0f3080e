package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hookback/hookback/schema"
)

// maxRevoked is how long another hub may accept a token after it was revoked.
const maxRevoked = time.Second

// pairTokenRun revokes a token at one hub, and measures how long the other one accepts it.
func pairTokenRun(ctx context.Context, at workspace) (err error) {
	p, err := at.startPair(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if err := errors.Join(p.hubs[0].stop(), p.hubs[0].start(ctx)); err != nil { // for a new link
		return err
	}
	owner := &crowdScenario{hub: p.hubs[0], out: at.out, owner: newClient(p.hubs[0].hub)}
	if err := owner.signIn(ctx); err != nil {
		return fmt.Errorf("sign in as owner: %w", err)
	}
	var longest time.Duration
	for range 10 {
		var token schema.Token
		if err := owner.owner.post(ctx, schema.PathTokens, schema.TokenDraft{Name: "agent"}, &token); err != nil {
			return fmt.Errorf("create a token: %w", err)
		}
		took, err := p.revoke(ctx, owner.owner, &token)
		if err != nil {
			return err
		}
		longest = max(longest, took)
	}
	fmt.Fprintf(at.out, "pair-token: 10 tokens revoked at one hub, refused by the other after at most %.0f ms\n", milliseconds(longest))
	if longest > maxRevoked {
		return fmt.Errorf("a revoked token was accepted for %s", longest)
	}
	return p.verifyLog(ctx)
}

// revoke revokes the token and returns how long the second hub still accepted it.
func (p *pair) revoke(ctx context.Context, owner *client, token *schema.Token) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	agent := newClient(p.hubs[1].hub)
	agent.header.Set("Authorization", "Bearer "+token.Secret)
	post := func() error {
		return agent.post(ctx, schema.PathEvents, schema.Event{SourceApp: "fault", SessionID: "s", HookEventType: "Stop", Payload: []byte(`{}`)}, nil)
	}
	for post() != nil { // the other hub does not know the token yet
		if ctx.Err() != nil {
			return 0, errors.New("the other hub does not accept a new token")
		}
		sleep(ctx, time.Millisecond)
	}
	if err := owner.call(ctx, "DELETE", schema.PathTokens+"/"+token.ID, nil, nil); err != nil {
		return 0, fmt.Errorf("revoke a token: %w", err)
	}
	revoked := time.Now()
	for post() == nil {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	return time.Since(revoked), nil
}
