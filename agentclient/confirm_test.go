package agentclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

// newConfirm returns do as a tool that needs confirmation.
func newConfirm(do *toolRecorder) *agentclient.Confirm[string] {
	return &agentclient.Confirm[string]{
		Tool: do.run,
		Describe: func(_ context.Context, c agentclient.ToolCall) (string, map[string]any, error) {
			return "Delete the page “About us” and its 3 sections?", map[string]any{"title": "About us", "sections": 3}, nil
		},
	}
}

func pageCall(arguments string) agentclient.ToolCall {
	return agentclient.ToolCall{ID: "c1", Name: "deletePage", Arguments: raw(arguments)}
}

// firstCall makes the first call and returns what to confirm.
func firstCall(t *testing.T, c *agentclient.Confirm[string], arguments string) *agentclient.Confirmation {
	t.Helper()
	r, err := c.Call(t.Context(), pageCall(arguments))
	require.NoError(t, err)
	require.Equal(t, agentclient.Unconfirmed, r.Status)
	require.NotNil(t, r.RequiresConfirmation)
	return r.RequiresConfirmation
}

// confirmByReply approves in the chat and returns the receipt.
func confirmByReply(t *testing.T, c *agentclient.Confirm[string], id string) string {
	t.Helper()
	receipt, meant, err := c.Reply(id, "Yes, please.")
	require.NoError(t, err)
	require.Equal(t, agentclient.ReplyYes, meant)
	require.NotEmpty(t, receipt)
	return receipt
}

func TestConfirm_FirstCallDescribesEffect(t *testing.T) {
	t.Parallel()
	var do toolRecorder
	c := newConfirm(&do)
	before := time.Now()
	r, err := c.Call(t.Context(), pageCall(`{"page": 12}`))
	require.NoError(t, err)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, "unconfirmed", got["status"])
	needs := got["requiresConfirmation"].(map[string]any)
	require.NotEmpty(t, needs["id"])
	require.Equal(t, "Delete the page “About us” and its 3 sections?", needs["summary"])
	require.Equal(t, "deletePage", needs["tool"])
	require.Equal(t, map[string]any{"page": 12.0}, needs["arguments"])
	require.Equal(t, map[string]any{"title": "About us", "sections": 3.0}, needs["facts"])
	var earlier agentclient.Confirmation
	require.NoError(t, json.Unmarshal(raw(`{"id": "1", "what": "Delete?", "tool": "deletePage"}`), &earlier))
	require.Equal(t, agentclient.Confirmation{ID: "1", Summary: "Delete?", Tool: "deletePage"}, earlier)
	expires := r.RequiresConfirmation.Expires
	require.False(t, expires.Before(before.Add(schema.DefaultTimeout)), "%v", expires)
	require.False(t, expires.After(time.Now().Add(schema.DefaultTimeout)), "%v", expires)
	require.Contains(t, got["guidance"], "Nothing was run yet.")
	require.Equal(t, "confirmation_requested", r.Confirmation().Status)
	require.Empty(t, do.calls())
}

func TestConfirm_SecondCallRunsConfirmedArguments(t *testing.T) {
	t.Parallel()
	var do toolRecorder
	c := newConfirm(&do)
	receipt := confirmByReply(t, c, firstCall(t, c, `{"page": 12, "sections": [1, 2]}`).ID)
	second := agentclient.ToolCall{ID: "c2", Name: "deletePage", Arguments: raw(fmt.Sprintf(`{"receipt":%q,"sections":[1,2],"page":12}`, receipt))}
	r, err := c.Call(t.Context(), second)
	require.NoError(t, err)
	require.Equal(t, agentclient.Ran, r.Status)
	require.Equal(t, "did deletePage", r.Output)
	require.Equal(t, []agentclient.ToolCall{{ID: "c2", Name: "deletePage", Arguments: raw(`{"page": 12, "sections": [1, 2]}`)}}, do.calls())

	again, err := c.Call(t.Context(), second)
	require.NoError(t, err)
	require.Equal(t, agentclient.Unconfirmed, again.Status, "a receipt was used twice")
	require.Contains(t, again.Reason, "used")
	require.Len(t, do.calls(), 1)
}

// A prompt may tell the model to add confirmed to the second call. It decides nothing.
func TestConfirm_ConfirmedIsNotCompared(t *testing.T) {
	t.Parallel()
	var do toolRecorder
	c := newConfirm(&do)
	receipt := confirmByReply(t, c, firstCall(t, c, `{"page": 12}`).ID)
	r, err := c.Call(t.Context(), pageCall(fmt.Sprintf(`{"page": 12, "confirmed": true, "receipt": %q}`, receipt)))
	require.NoError(t, err)
	require.Equal(t, agentclient.Ran, r.Status)
	require.JSONEq(t, `{"page": 12}`, string(do.calls()[0].Arguments))
}

func TestConfirm_RequiresMatchingReceipt(t *testing.T) {
	t.Parallel()
	var do toolRecorder
	c := newConfirm(&do)
	asked := firstCall(t, c, `{"page": 12}`)
	receipt := confirmByReply(t, c, asked.ID)
	with := func(arguments string) string { return fmt.Sprintf(arguments, receipt) }
	for _, arguments := range []string{
		`{"page": 12}`, `{"page": 12, "confirmed": true}`, `{"page": 12, "receipt": true}`, `{"page": 12, "receipt": ""}`, `{"page": 12, "receipt": null}`,
		`{"page": 12, "receipt": "yes"}`, `{"page": 12, "receipt": "` + asked.ID + `"}`, with(`{"page": 12, "Receipt": %q}`),
		with(`{"page": 13, "receipt": %q}`), with(`{"page": "12", "receipt": %q}`), with(`{"page": 12.0, "receipt": %q}`), with(`{"page": 12, "all": true, "receipt": %q}`),
		with(`{"receipt": %q}`), with(`{"page": [12], "receipt": %q}`), with(`{"page": {"page": 12}, "receipt": %q}`), with(`{"page": null, "receipt": %q}`),
	} {
		r, err := c.Call(t.Context(), pageCall(arguments))
		require.NoError(t, err, "%s", arguments)
		require.Equal(t, agentclient.Unconfirmed, r.Status, "%s", arguments)
		require.NotNil(t, r.RequiresConfirmation, "%s", arguments)
		require.NotContains(t, string(r.RequiresConfirmation.Arguments), `"receipt"`)
	}
	for _, arguments := range []string{
		with(`{"page": 1, "page": 12, "receipt": %q}`), with(`{"page": 12, "PAGE": 13, "receipt": %q}`), with(`{"page": 12, "receipt": "x", "receipt": %q}`),
		`[12]`, `"x"`, `{"page":`,
	} {
		_, err := c.Call(t.Context(), pageCall(arguments))
		require.ErrorIs(t, err, schema.ErrInvalid, "%s", arguments)
	}
	other := pageCall(with(`{"page": 12, "receipt": %q}`))
	other.Name = "deleteSite"
	r, err := c.Call(t.Context(), other)
	require.NoError(t, err)
	require.Equal(t, agentclient.Unconfirmed, r.Status)
	require.Empty(t, do.calls())

	r, err = c.Call(t.Context(), pageCall(with(`{"page": 12, "receipt": %q}`)))
	require.NoError(t, err)
	require.Equal(t, agentclient.Ran, r.Status, "a wrong call consumed the receipt")
}

func TestConfirm_InterpretsChatReplies(t *testing.T) {
	t.Parallel()
	var do toolRecorder
	c := newConfirm(&do)
	asked := firstCall(t, c, `{}`)
	for _, words := range []string{"", "yes but only the images", "why?"} {
		receipt, meant, err := c.Reply(asked.ID, words)
		require.NoError(t, err)
		require.Equal(t, agentclient.ReplyUnclear, meant)
		require.Empty(t, receipt)
	}
	receipt, meant, err := c.Reply(asked.ID, "no, not yet")
	require.NoError(t, err)
	require.Equal(t, agentclient.ReplyNo, meant)
	require.Empty(t, receipt)
	for _, words := range []string{"yes", "no", "hm"} {
		receipt, _, err = c.Reply(asked.ID, words)
		require.ErrorIs(t, err, schema.ErrNotFound, "a refusal is final")
		require.Empty(t, receipt)
	}
	receipt = confirmByReply(t, c, firstCall(t, c, `{}`).ID)
	_, _, err = c.Reply(receipt, "yes")
	require.ErrorIs(t, err, schema.ErrNotFound, "a receipt can't be confirmed again")
}

func TestConfirm_ConfirmationAndReceiptExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var do toolRecorder
		c := newConfirm(&do)
		c.Expires = time.Minute
		asked := firstCall(t, c, `{}`)
		<-time.After(time.Minute - 1)
		receipt := confirmByReply(t, c, asked.ID)
		<-time.After(time.Minute)
		r, err := c.Call(t.Context(), pageCall(fmt.Sprintf(`{"receipt": %q}`, receipt)))
		require.NoError(t, err)
		require.Equal(t, agentclient.Unconfirmed, r.Status)
		<-time.After(time.Minute)
		_, _, err = c.Reply(r.RequiresConfirmation.ID, "yes")
		require.ErrorIs(t, err, schema.ErrNotFound)
		require.Empty(t, do.calls())

		receipt = confirmByReply(t, c, firstCall(t, c, `{}`).ID)
		<-time.After(time.Minute - 1)
		r, err = c.Call(t.Context(), pageCall(fmt.Sprintf(`{"receipt": %q}`, receipt)))
		require.NoError(t, err)
		require.Equal(t, agentclient.Ran, r.Status)
	})
}

func TestConfirm_EvictsEarliestExpiringWhenFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConfirm(&toolRecorder{})
		oldest := firstCall(t, c, `{}`)
		<-time.After(time.Second)
		second := firstCall(t, c, `{}`)
		<-time.After(time.Second)
		for range 999 {
			firstCall(t, c, `{}`)
		}
		_, _, err := c.Reply(oldest.ID, "yes")
		require.ErrorIs(t, err, schema.ErrNotFound)
		confirmByReply(t, c, second.ID)
	})
}

func TestConfirm_ConcurrentCallersUseReceiptOnce(t *testing.T) {
	t.Parallel()
	var do toolRecorder
	c := newConfirm(&do)
	receipt := confirmByReply(t, c, firstCall(t, c, `{"page": 12}`).ID)
	var ran atomic.Int64
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			r, err := c.Call(t.Context(), pageCall(fmt.Sprintf(`{"page": 12, "receipt": %q}`, receipt)))
			if err != nil {
				t.Error(err)
			}
			if r.Status == agentclient.Ran {
				ran.Add(1)
			}
		})
	}
	callers.Wait()
	require.EqualValues(t, 1, ran.Load())
	require.Len(t, do.calls(), 1)
}

func TestConfirm_DescribeErrorEndsCall(t *testing.T) {
	t.Parallel()
	c := newConfirm(&toolRecorder{})
	gone := errors.New("there is no such page")
	c.Describe = func(context.Context, agentclient.ToolCall) (string, map[string]any, error) { return "", nil, gone }
	_, err := c.Call(t.Context(), pageCall(`{}`))
	require.ErrorIs(t, err, gone)
	c.Describe = nil
	require.Equal(t, "Run deletePage?", firstCall(t, c, `{}`).Summary)
}

func TestConfirm_AsksThroughHub(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	var do toolRecorder
	c := newConfirm(&do)
	c.Client = b.client
	type answer struct {
		receipt string
		agentclient.Decision
		err error
	}
	ask := func(id string) <-chan answer {
		got := make(chan answer, 1)
		go func() {
			receipt, d, err := c.Ask(b.ctx, id)
			got <- answer{receipt, d, err}
		}()
		return got
	}
	for n, said := range []schema.Answer{approval(), denial(), {Outcome: schema.Timeout, Source: schema.ByTimeout}} {
		asked := firstCall(t, c, `{"page": 12}`)
		got := ask(asked.ID)
		q := b.waitForQuestion(t, n+1)
		card := q.Event.HumanInTheLoop
		require.Equal(t, asked.Summary, card.Question)
		require.False(t, card.ToolCall.Editable, "the approval would be for other arguments")
		require.JSONEq(t, `{"page": 12}`, string(card.ToolCall.Arguments))
		require.Contains(t, card.Context.Why, `"title": "About us"`)
		require.LessOrEqual(t, *card.Timeout, schema.DefaultTimeout.Seconds())
		require.GreaterOrEqual(t, *card.Timeout, time.Until(asked.Expires).Seconds())
		_, err := q.Push(b.ctx, said)
		require.NoError(t, err)
		a := <-got
		require.NoError(t, a.err)
		require.Equal(t, a.Approved(), a.receipt != "")
		require.Equal(t, n == 0, a.Approved())
		if a.receipt != "" {
			r, err := c.Call(b.ctx, pageCall(fmt.Sprintf(`{"page": 12, "receipt": %q}`, a.receipt)))
			require.NoError(t, err)
			require.Equal(t, agentclient.Ran, r.Status)
		}
		_, _, err = c.Reply(asked.ID, "yes")
		require.Equal(t, n < 2, errors.Is(err, schema.ErrNotFound), "after a timeout the answer may still come in the chat")
	}
	require.Len(t, do.calls(), 1)
	_, d, err := c.Ask(b.ctx, "unknown")
	require.ErrorIs(t, err, schema.ErrNotFound)
	require.False(t, d.Approved())
}

func TestConfirm_IgnoresAllowFallback(t *testing.T) {
	t.Parallel()
	var do toolRecorder
	c := newConfirm(&do)
	c.Client = newClient(t, agentclient.Options{Hubs: []string{"http://127.0.0.1:1"}, OnUnreachable: agentclient.Allow, UnreachableAfter: time.Millisecond}, agentclient.Timings{})
	receipt, d, err := c.Ask(testContext(t), firstCall(t, c, `{}`).ID)
	require.NoError(t, err)
	require.Empty(t, receipt)
	require.Equal(t, agentclient.Unreachable, d.Outcome)
}
