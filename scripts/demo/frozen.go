package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hookback/hookback/schema/control"
)

var errNotAllowed = errors.New("the hub does not allow it without sign-in")

// runFrozenCall freezes the session, so the next call is denied. The agent makes the call only after
// a person has lifted the freeze, and otherwise lifts it itself.
func (a *agent) runFrozenCall(ctx context.Context, s step) error {
	frozen, err := a.freezeSession(ctx, s.Freeze)
	if errors.Is(err, errNotAllowed) {
		a.log("could not freeze this session: %v", err)
		return a.play(ctx, s.Otherwise)
	}
	if err != nil {
		return err
	}
	defer a.lift(ctx, frozen.ID) // also at the end of the demo
	if runs, err := a.tryFrozenCall(ctx, *s.Call); err != nil {
		return err
	} else if runs { // someone was faster
		return a.play(ctx, s.Then)
	}
	a.log("is frozen, and its call did not run. Resume it in the red bar at %s, or with: hookback freeze --lift %d", a.hub, frozen.ID)
	isLifted, err := a.waitForLift(ctx, frozen.ID, a.scale(seconds(s.Idle)))
	if err != nil {
		return err
	}
	if !isLifted {
		return a.play(ctx, s.Otherwise)
	}
	a.log("was resumed, and tries its call again")
	if runs, err := a.tryFrozenCall(ctx, *s.Call); err != nil {
		return err
	} else if !runs { // by another freeze
		return a.play(ctx, s.Otherwise)
	}
	return a.play(ctx, s.Then)
}

// tryFrozenCall makes a call unless the hub stops it.
func (a *agent) tryFrozenCall(ctx context.Context, c call) (runs bool, err error) {
	id := toolUse()
	directive, err := a.startGatedCall(ctx, id, c, control.Accepts{Freeze: true})
	if err != nil {
		return false, err
	}
	if directive == nil || directive.Freeze == nil {
		return true, a.finishCall(ctx, id, c)
	}
	c.Failure = directive.Freeze.Guidance()
	a.transcript.result(id, c)
	return false, nil
}

// freezeSession freezes the agent's own session. The error is errNotAllowed if the hub refuses. The
// end of the demo does not cut the request: a freeze whose id is unknown could not be lifted.
func (a *agent) freezeSession(ctx context.Context, reason string) (f control.Freeze, err error) {
	ctx = context.WithoutCancel(ctx)
	draft := control.FreezeDraft{Scope: control.FreezeSession, SourceApp: a.role.App, SessionID: a.session, Reason: reason}
	return f, a.callHub(ctx, http.MethodPost, control.PathFreezes, draft, &f)
}

// waitForLift returns whether a person lifts the freeze within d.
func (a *agent) waitForLift(ctx context.Context, id int64, d time.Duration) (isLifted bool, err error) {
	for deadline := time.Now().Add(d); ; {
		if isActive, err := a.isFrozen(ctx, id); err != nil || !isActive {
			return err == nil, err
		}
		if time.Now().After(deadline) {
			return false, nil
		}
		if err := a.pause(ctx, 2*time.Second); err != nil {
			return false, err
		}
	}
}

func (a *agent) isFrozen(ctx context.Context, id int64) (bool, error) {
	var list control.FreezeList
	if err := a.callHub(ctx, http.MethodGet, control.PathFreezes, nil, &list); err != nil {
		return false, err
	}
	for _, f := range list.Freezes {
		if f.ID == id {
			return true, nil
		}
	}
	return false, nil
}

// lift removes the freeze if it is still active. Once the hub has an owner, only people may.
func (a *agent) lift(ctx context.Context, id int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	isActive, err := a.isFrozen(ctx, id)
	if err == nil && isActive {
		if err = a.callHub(ctx, http.MethodDelete,
			strings.Replace(control.PathFreeze, ":id", strconv.FormatInt(id, 10), 1), nil, nil); err == nil {
			a.log("lifted its own freeze")
		}
	}
	if err != nil {
		a.log("could not lift its freeze (%v): sign in at %s and choose Resume", err, a.hub)
	}
}

// callHub sends a request and decodes the response into reply unless that is nil.
func (s *simulation) callHub(ctx context.Context, method, path string, body, reply any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.hub+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
		return errNotAllowed
	case res.StatusCode >= 300:
		return fmt.Errorf("%s %s: status %s", method, path, res.Status)
	case reply == nil:
		return nil
	default:
		return json.NewDecoder(res.Body).Decode(reply)
	}
}
