package agentclient

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/hookback/hookback/agentclient/internal/transport"
	"github.com/hookback/hookback/schema"
)

const (
	maxMessageBytes = 1 << 20     // per message
	shutdownGrace   = time.Second // time that shutdown gives acknowledgments in progress
)

// listener accepts the hub's WebSocket connections: one loopback port per client, one
// secret path per question. It runs while paths are registered.
//
// Any program on the machine can connect, and so can any web page, because WebSockets
// are not subject to the same-origin policy. The listener therefore rejects unknown
// paths, browsers (requests with an Origin) and DNS rebinding (a foreign Host).
type listener struct {
	readTimeout time.Duration // from the handshake to the end of the message
	linger      time.Duration // how long a path stays after its question

	mu        sync.Mutex
	pending   map[string]*pendingAsk // path → its question
	run       *listenerRun           // nil while the port is closed
	stopped   bool                   // permanently, by stop
	shutdowns sync.WaitGroup         // runs that release is shutting down
}

// listenerRun is one lifetime of the port, from the first path to the last.
type listenerRun struct {
	host   string // required Host header
	server *http.Server
	ctx    context.Context // ended to cut off connections
	cancel context.CancelFunc
	conns  sync.WaitGroup // active handlers
	done   chan struct{}  // closed when Serve has returned
}

// register assigns w a secret path and returns its URL.
func (l *listener) register(p *pendingAsk) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return "", ErrClosed
	}
	if l.run == nil {
		if err := l.serveLocked(); err != nil {
			return "", err
		}
	}
	p.path = "/" + transport.RandomToken(16)
	l.pending[p.path] = p
	return "ws://" + l.run.host + p.path, nil
}

func (l *listener) serveLocked() error {
	// Bind to port 0 directly: a search for a free port would leave a moment in which
	// another program could take it.
	socket, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	run := &listenerRun{host: socket.Addr().String(), done: make(chan struct{})}
	run.ctx, run.cancel = context.WithCancel(context.Background())
	run.server = &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.serveHTTP(run, w, r) }),
		ReadHeaderTimeout: 5 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          log.New(io.Discard, "", 0), // it would print requests of unknown callers
	}
	run.server.SetKeepAlivesEnabled(false)
	l.run, l.pending = run, map[string]*pendingAsk{}
	go func() {
		defer close(run.done)
		_ = run.server.Serve(socket)
	}()
	return nil
}

// release removes w's path after linger, when repeats of its answer can't come any
// more. The last path closes the port.
func (l *listener) release(p *pendingAsk) {
	if p.path == "" {
		return
	}
	time.AfterFunc(l.linger, func() {
		l.mu.Lock()
		delete(l.pending, p.path)
		run := l.run
		if len(l.pending) > 0 || run == nil {
			l.mu.Unlock()
			return
		}
		l.run = nil
		l.shutdowns.Add(1)
		l.mu.Unlock()
		run.shutdown()
		l.shutdowns.Done()
	})
}

// stop closes the port for good and waits until all its goroutines have ended.
func (l *listener) stop() {
	l.mu.Lock()
	l.stopped = true
	run := l.run
	l.run = nil
	l.mu.Unlock()
	if run != nil {
		run.shutdown()
	}
	l.shutdowns.Wait()
}

// shutdown stops accepting connections, lets handlers finish for shutdownGrace, then
// cuts them off and waits for them.
func (s *listenerRun) shutdown() {
	finished := make(chan struct{})
	_ = s.server.Close()
	<-s.done
	go func() {
		s.conns.Wait()
		close(finished)
	}()
	select {
	case <-finished:
	case <-time.After(shutdownGrace):
	}
	s.cancel()
	<-finished
}

// beginHandler counts a handler in. It returns false if run has stopped.
func (l *listener) beginHandler(run *listenerRun) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run != run {
		return false
	}
	run.conns.Add(1)
	return true
}

// pendingAt returns the question of a path, or nil.
func (l *listener) pendingAt(path string) *pendingAsk {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pending[path]
}

func (l *listener) serveHTTP(run *listenerRun, rw http.ResponseWriter, r *http.Request) {
	if !l.beginHandler(run) {
		http.Error(rw, "this listener has stopped", http.StatusServiceUnavailable)
		return
	}
	defer run.conns.Done()
	if _, fromPage := r.Header["Origin"]; fromPage {
		http.Error(rw, "requests from web pages are not allowed", http.StatusForbidden)
		return
	}
	if r.Host != run.host {
		http.Error(rw, "wrong host", http.StatusMisdirectedRequest)
		return
	}
	p := l.pendingAt(r.URL.Path)
	if p == nil {
		http.NotFound(rw, r)
		return
	}
	if challenge := r.Header.Get(schema.ChallengeHeader); challenge != "" {
		rw.Header().Set(schema.ProofHeader, schema.ListenerProof(p.question.ListenerKey, challenge))
	}
	conn, err := websocket.Accept(rw, r, nil)
	if err != nil {
		return
	}
	p.readAnswer(run.ctx, conn, l.readTimeout)
}

// readAnswer reads one message. Later messages on the connection are ignored.
func (p *pendingAsk) readAnswer(ctx context.Context, conn *websocket.Conn, timeout time.Duration) {
	defer conn.CloseNow()
	stop := context.AfterFunc(ctx, func() { _ = conn.CloseNow() }) // conn.Close below takes no context
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn.SetReadLimit(maxMessageBytes)
	kind, frame, err := conn.Read(ctx)
	if err != nil {
		return // the library closes a frame over the limit with 1009
	}
	if kind != websocket.MessageText {
		_ = conn.Close(websocket.StatusUnsupportedData, "answers must be text messages")
		return
	}
	if p.handleControl(frame) {
		_ = conn.Close(websocket.StatusNormalClosure, "")
		return
	}
	m, err := p.open(ctx, frame)
	result := p.applyMessage(m, err)
	if result == schema.AckAccepted {
		select {
		case <-p.delivered:
		case <-ctx.Done():
			return
		}
	}
	if m.AnswerID != "" {
		ack, _ := json.Marshal(schema.Ack{Type: schema.AckType, AnswerID: m.AnswerID, Result: result})
		if conn.Write(ctx, websocket.MessageText, ack) != nil {
			return
		}
	}
	switch {
	case err != nil:
		_ = conn.Close(websocket.StatusInvalidFramePayloadData, "not an answer")
	case m.AnswerID == "" && result != schema.AckAccepted:
		_ = conn.Close(websocket.StatusPolicyViolation, "no pending question")
	default:
		_ = conn.Close(websocket.StatusNormalClosure, "")
	}
}
