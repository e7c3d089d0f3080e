// Package fakehub provides a fake hub for the tests of agentclient. It follows the
// protocol exactly, unless a test makes it break the protocol. It stores nothing on disk.
package fakehub

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// Hub is a fake hub on a loopback port. The zero value is ready to Start.
type Hub struct {
	// Intercept, if set before Start, sees every request first. It returns true if it
	// has answered the request.
	Intercept func(http.ResponseWriter, *http.Request) bool
	// Status, if set before Start, is the initial status of questions.
	Status schema.Status
	// Watching, if set before Start, is the number of dashboards to report.
	Watching *int
	// Key, if set before Start, is the hub's key: it signs every answer to a question with
	// a nonce. Without it, this is a hub of an earlier version, which signs nothing.
	Key ed25519.PrivateKey
	// Rotations, if set before Start, leads from earlier keys to Key.
	Rotations []schema.Envelope
	// Forge, if set before Start, changes an answer after it was signed.
	Forge func(*Question, *schema.Answer)

	address string
	server  *http.Server
	done    chan struct{}

	mu     sync.Mutex
	events []*Question
	keys   map[string]*Question // by idempotency key
	added  chan struct{}        // closed and replaced when events grows
}

// Question is one stored event with its answer.
type Question struct {
	schema.Event // as first posted
	hub          *Hub

	target   *schema.HumanInTheLoop // as last posted, so where to dial; guarded by hub.mu
	digest   [sha256.Size]byte      // sign.AskDigest as first posted
	resolved chan struct{}          // closed when answer or Withdrawal is set
	answer   []byte
	// Withdrawal is the body of the cancel that ended the question.
	Withdrawal schema.Cancel
	Pulls      int    // number of pulls that returned the answer
	Rejected   string // the result by which the agent rejected the answer that it pulled
}

// Start listens on a loopback port. After Stop it uses the same port again.
func (h *Hub) Start() error {
	if h.address == "" {
		h.address, h.added, h.keys = "127.0.0.1:0", make(chan struct{}), map[string]*Question{}
	}
	socket, err := net.Listen("tcp", h.address)
	if err != nil {
		return err
	}
	h.address, h.done = socket.Addr().String(), make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /events", h.ingest)
	mux.HandleFunc("POST /events/batch", h.ingestBatch)
	mux.HandleFunc("POST /events/{id}/cancel", h.cancel)
	mux.HandleFunc("GET /events/{id}/response", h.pull)
	mux.HandleFunc("GET /api/hub", h.identity)
	h.server = &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/hub" || h.Intercept == nil || !h.Intercept(w, r) {
			mux.ServeHTTP(w, r)
		}
	})}
	go func(server *http.Server, done chan struct{}) {
		defer close(done)
		_ = server.Serve(socket)
	}(h.server, h.done)
	return nil
}

// Stop cuts off every connection, as a crash does. Stored events remain.
func (h *Hub) Stop() {
	_ = h.server.Close()
	<-h.done
}

// URL returns the hub's address.
func (h *Hub) URL() string { return "http://" + h.address }

// Events returns the stored events.
func (h *Hub) Events() []*Question {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]*Question(nil), h.events...)
}

// Question waits for the n-th event, counted from 1.
func (h *Hub) Question(ctx context.Context, n int) (*Question, error) {
	return waitForEvent(ctx, n, func() (chan struct{}, []*Question) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.added, h.events
	})
}

// waitForEvent waits for the n-th event. The channel is closed when there are more.
func waitForEvent[E any](ctx context.Context, n int, stored func() (added chan struct{}, events []E)) (e E, err error) {
	for {
		added, events := stored()
		if len(events) >= n {
			return events[n-1], nil
		}
		select {
		case <-added:
		case <-ctx.Done():
			return e, fmt.Errorf("no event %d: %w", n, ctx.Err())
		}
	}
}

func (h *Hub) ingest(w http.ResponseWriter, r *http.Request) {
	var e schema.Event
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &e)
	}
	if err == nil {
		err = e.Validate()
	}
	if err != nil {
		writeProblem(w, err)
		return
	}
	var digest [sha256.Size]byte
	if e.HumanInTheLoop != nil {
		if digest, err = sign.AskDigest(body); err != nil {
			writeProblem(w, err)
			return
		}
	}
	saved := h.store(e, digest)
	if saved.HumanInTheLoop != nil {
		redacted := saved.HumanInTheLoop.Redacted()
		saved.HumanInTheLoop = &redacted
	}
	writeJSON(w, saved)
}

func (h *Hub) ingestBatch(w http.ResponseWriter, r *http.Request) {
	var raw []json.RawMessage
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &raw)
	}
	if err != nil {
		writeProblem(w, fmt.Errorf("%w: %w", schema.ErrInvalid, err))
		return
	}
	results := make([]schema.BatchResult, len(raw))
	for i, text := range raw {
		var e schema.Event
		err := json.Unmarshal(text, &e)
		if err == nil {
			err = e.Validate()
		}
		if err != nil {
			p := schema.ProblemOf(err)
			results[i].Problem = &p
			continue
		}
		saved := h.store(e, [sha256.Size]byte{})
		results[i].Event = &saved
	}
	writeJSON(w, results)
}

// store adds an event and returns it as stored. For a known idempotency key it returns
// the earlier event and updates where its answer is dialed.
func (h *Hub) store(e schema.Event, digest [sha256.Size]byte) schema.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	if q := h.keys[e.IdempotencyKey]; q != nil {
		q.target = e.HumanInTheLoop
		repeated := q.Event
		if q.answer != nil {
			repeated.HumanInTheLoopStatus = &schema.Status{Status: schema.Responded}
		}
		return repeated
	}
	e.ID = schema.EventID(len(h.events) + 1)
	e.UID = "uid-" + e.ID.String()
	if e.HumanInTheLoop != nil {
		status := h.Status
		status.Status = schema.Pending
		e.HumanInTheLoopStatus, e.RequestSecret = &status, "secret-"+e.ID.String()
		if h.Key != nil {
			e.RequestSecret = e.HumanInTheLoop.RequestSecret
		}
		e.Watching = h.Watching
	}
	q := &Question{Event: e, hub: h, target: e.HumanInTheLoop, digest: digest, resolved: make(chan struct{})}
	h.events = append(h.events, q)
	if e.IdempotencyKey != "" {
		h.keys[e.IdempotencyKey] = q
	}
	close(h.added)
	h.added = make(chan struct{})
	if h.Key != nil {
		e.RequestSecret = "" // the client chose it
	}
	return e
}

func (h *Hub) find(r *http.Request) (*Question, error) {
	id, err := strconv.Atoi(r.PathValue("id"))
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil || id < 1 || id > len(h.events) {
		return nil, schema.ErrNotFound
	}
	return h.events[id-1], nil
}

func (h *Hub) cancel(w http.ResponseWriter, r *http.Request) {
	q, err := h.find(r)
	if err != nil {
		writeProblem(w, err)
		return
	}
	var c schema.Cancel
	if json.NewDecoder(r.Body).Decode(&c) != nil || c.RequestSecret != q.RequestSecret {
		writeProblem(w, schema.ErrForbidden)
		return
	}
	if !q.resolve(func() { q.Withdrawal = c }) {
		writeProblem(w, &schema.StatusError{Err: schema.ErrDecided, Status: schema.Status{Status: schema.Responded}})
		return
	}
	writeJSON(w, q.Event)
}

func (h *Hub) pull(w http.ResponseWriter, r *http.Request) {
	q, err := h.find(r)
	if err == nil && r.Header.Get(schema.SecretHeader) != q.RequestSecret {
		err = schema.ErrForbidden
	}
	if err != nil {
		writeProblem(w, err)
		return
	}
	if rejected := r.URL.Query().Get("rejected"); rejected != "" {
		h.mu.Lock()
		q.Rejected = rejected
		h.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
		return
	}
	seconds, _ := strconv.ParseFloat(r.URL.Query().Get("wait"), 64)
	select {
	case <-q.resolved:
	case <-time.After(time.Duration(seconds * float64(time.Second))):
		w.WriteHeader(http.StatusNoContent)
		return
	case <-r.Context().Done():
		return
	}
	if q.answer == nil {
		writeProblem(w, &schema.StatusError{Err: schema.ErrExpired, Status: schema.Status{
			Status: schema.Failed, Outcome: schema.Withdrawn, Source: schema.ByAgent,
		}})
		return
	}
	h.mu.Lock()
	q.Pulls++
	h.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(q.answer)
}

func (q *Question) resolve(with func()) bool {
	q.hub.mu.Lock()
	defer q.hub.mu.Unlock()
	select {
	case <-q.resolved:
		return false
	default:
		with()
		close(q.resolved)
		return true
	}
}

// Frame returns the message that delivers a, as a hub encodes it: with an answerId, the
// hub's own event and the number of the attempt.
func (q *Question) Frame(a schema.Answer) []byte {
	event := q.Event
	event.HumanInTheLoop = nil
	event.RequestSecret = ""
	a.HookEvent = &event
	if a.AnswerID == "" {
		a.AnswerID = "answer-" + q.ID.String()
	}
	if a.RespondedAt == 0 {
		a.RespondedAt = 1734189245000
	}
	a.Attempt = 1
	if q.hub.Key != nil && q.HumanInTheLoop.Nonce != "" {
		seal := q.Seal(a)
		a.Seal = &seal
	}
	if q.hub.Forge != nil {
		q.hub.Forge(q, &a)
	}
	frame, err := json.Marshal(a)
	if err != nil {
		panic(err) // the test passed invalid JSON
	}
	return frame
}

// Target returns the callback URL of the agent that posted last.
func (q *Question) Target() string {
	q.hub.mu.Lock()
	defer q.hub.mu.Unlock()
	return q.target.ResponseWebSocketURL
}

// Decide answers the question without dialing, so that the agent has to pull.
func (q *Question) Decide(frame []byte) { q.resolve(func() { q.answer = frame }) }

// Push answers the question and dials the agent with the answer.
func (q *Question) Push(ctx context.Context, a schema.Answer) (schema.Ack, error) {
	frame := q.Frame(a)
	q.Decide(frame)
	return q.Dial(ctx, frame)
}

// Dial sends a frame to the agent as a version 2 hub does: it checks the listener's
// proof, sends, waits for the acknowledgment and closes.
func (q *Question) Dial(ctx context.Context, frame []byte) (ack schema.Ack, err error) {
	q.hub.mu.Lock()
	target := q.target
	q.hub.mu.Unlock()
	challenge := fmt.Sprintf("challenge-%d", time.Now().UnixNano())
	conn, res, err := websocket.Dial(ctx, target.ResponseWebSocketURL, &websocket.DialOptions{
		HTTPHeader: http.Header{schema.ChallengeHeader: {challenge}},
	})
	if err != nil {
		return ack, err
	}
	defer conn.CloseNow()
	if res.Header.Get(schema.ProofHeader) != schema.ListenerProof(target.ListenerKey, challenge) {
		return ack, errors.New("the listener's proof is wrong")
	}
	if err := conn.Write(ctx, websocket.MessageText, frame); err != nil {
		return ack, err
	}
	_, b, err := conn.Read(ctx)
	if err != nil {
		return ack, err
	}
	if err := json.Unmarshal(b, &ack); err != nil {
		return ack, err
	}
	_ = conn.Close(websocket.StatusNormalClosure, "")
	return ack, nil
}

func writeJSON(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func writeProblem(w http.ResponseWriter, err error) {
	p := schema.ProblemOf(err)
	w.Header().Set("Content-Type", schema.ProblemMediaType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}

// Ingest stores the event in r. It is meant for Intercept.
func (h *Hub) Ingest(w http.ResponseWriter, r *http.Request) { h.ingest(w, r) }

// Refuse answers a request with a problem. It is meant for Intercept.
func Refuse(w http.ResponseWriter, err error) { writeProblem(w, err) }

// IsPull reports whether a request pulls an answer.
func IsPull(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/response") }
