package hookrun

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/report"
	"github.com/hookback/hookback/agentclient/internal/transport"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

const waitHelp = `hookback wait AGENT [flags] < input

Runs as an asynchronous hook of Claude Code, which hookback install --wake adds to its
settings. It waits until a person sends a message to the idle session, prints it on stderr and
exits 2, which wakes the agent. It exits 0 without output at the next prompt, when the session
or the agent ends, or if no hub answers for an hour.
`

// Time limits of wait.
const (
	pollWait     = 55 * time.Second // of one request; proxies end idle ones after a minute
	pollSlack    = 10 * time.Second // for the response after pollWait
	maxUnreached = time.Hour        // without a hub
	maxRetryWait = 30 * time.Second
	firstRetry   = time.Second
)

// exitWake is the exit status on which Claude Code shows the hook's stderr to the model.
const exitWake = 2

// Wait runs hookback wait.
func Wait(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	h := newHookRun(env, std)
	defer h.logPanic()
	f := cli.NewBareFlags("wait", waitHelp)
	f.AddHubFlags(env)
	f.StringVar(&h.app, "app", "", "the project's `name`; default: the name of its folder")
	h.hubFlags = f
	if helpShown, err := h.parse(f, args); helpShown {
		return cli.ExitOK
	} else if err != nil {
		return std.PrintError("%v; see hookback wait --help", err)
	}
	if !control.CanReceive(h.agent.Name) {
		return std.PrintError("%s can't be woken", h.agent.Title)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer onParentExit(cancel)()
	text, err := h.waitForMessages(ctx)
	if err != nil && ctx.Err() == nil {
		h.logf("wait: %v", err)
	}
	if text == "" {
		return cli.ExitOK
	}
	fmt.Fprintln(std.Err, text)
	return exitWake
}

// waitForMessages returns messages to the session of the hook's input, or "" if there is nothing
// more to wait for.
func (h *hookRun) waitForMessages(ctx context.Context) (string, error) {
	c, _, err := h.readCall()
	if err != nil {
		return "", err
	}
	hubs, err := h.selectHub().Hubs()
	if err != nil || c.Headless || c.Event.SessionID == "" || !control.CanReceive(h.agent.Name) {
		return "", err // a session without a user ends with its turn
	}
	w := waiter{hookRun: h, event: c.Event, hub: hubs[0], name: rand.Text(), client: transport.NewClient()}
	defer w.client.CloseIdleConnections()
	return w.run(ctx)
}

// waiter waits for messages to one session.
type waiter struct {
	*hookRun
	event  schema.Event // of the hook's input
	hub    string
	name   string
	client *http.Client
	after  int64 // of the previous status
}

func (w *waiter) run(ctx context.Context) (text string, err error) {
	retry, reached := firstRetry, time.Now()
	for {
		status, err := w.poll(ctx)
		switch {
		case err != nil && (transport.IsRejection(err) || errors.Is(err, transport.ErrNotHub)): // again with a retry
			return "", fmt.Errorf("the hub refused to wait: %w", err)
		case err == nil && status.Ended:
			return "", nil
		case err == nil && status.Waiting:
			text, err = w.collect()
			if text != "" {
				return text, nil
			}
			// Another hook took them, or they are for a subagent.
		}
		if err == nil {
			reached, w.after = time.Now(), status.After
		}
		if err == nil && !status.Waiting {
			retry = firstRetry
			continue
		}
		if time.Since(reached) > maxUnreached {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(retry):
			retry = min(2*retry, maxRetryWait)
		}
	}
}

// poll waits for a change, for at most pollWait.
func (w *waiter) poll(ctx context.Context) (s control.WaitStatus, err error) {
	query := url.Values{
		"source_app": {w.event.SourceApp}, "session_id": {w.event.SessionID}, "waiter": {w.name},
		"wait": {strconv.Itoa(int(pollWait / time.Second))}, "after": {strconv.FormatInt(w.after, 10)},
	}
	ctx, cancel := context.WithTimeout(ctx, pollWait+pollSlack)
	defer cancel()
	token, refused := agentclient.TokenFor(w.selectHub().ProvenOptions(w.logf), w.hub)
	reply, err := transport.Do(ctx, w.client, transport.Request{Hub: w.hub, Path: control.PathWait + "?" + query.Encode()}, token, refused)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(reply.Body, &s); err != nil {
		return s, transport.Errorf(transport.ErrRetry, "the hub's reply can't be read: %w", err)
	}
	return s, nil
}

// collect takes the messages that wait for the session. Their text is "" if there are none.
func (w *waiter) collect() (string, error) {
	e := schema.Event{
		SourceApp: w.event.SourceApp, SessionID: w.event.SessionID, Agent: w.agent.Name, HookEventType: control.WakeEvent,
		Timestamp: schema.Millis(time.Now().UnixMilli()), IdempotencyKey: randomKey(), Payload: json.RawMessage(`{"hook_event_name":"` + control.WakeEvent + `"}`),
	}
	body, err := report.EncodeEvent(&e)
	if err != nil {
		return "", err
	}
	poster := w.poster([]string{w.hub})
	poster.Accepts = control.Accepts{Message: true}.String()
	// A repeat with the same key gets the same messages, so that a lost response loses none.
	for range 3 {
		var response []byte
		if response, err = poster.Post(time.Now().Add(acceptTimeout), schema.PathEvents, body); err != nil {
			continue
		}
		d := directiveOf(response)
		if d == nil {
			return "", nil
		}
		return control.PromptText(d.Messages), nil
	}
	return "", err
}
