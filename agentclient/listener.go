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

	"github.com/hookback/hookback/schema"
)

const (
	maxMessageBytes = 1 << 20          // bytes of one message
	readTimeout     = 10 * time.Second // from the handshake to the end of the message
	shutdownGrace   = time.Second      // what Close gives acknowledgements under way
)

// listener is where hubs dial answers to: one loopback port for all of a
// client's questions, one secret path for each. It runs while there are paths.
//
// Any program on the machine can connect, and so can any web page (a WebSocket
// knows no same-origin rule). So it talks to nobody who doesn't know a path,
// who comes from a web page (Origin) or under another name (Host).
type listener struct {
	linger time.Duration

	mu        sync.Mutex
	pending   map[string]*pendingAsk // :: path → the question it is for
	run       *listenerRun           // nil while nothing listens
	stopped   bool                   // by stop, for good
	shutdowns sync.WaitGroup         // lives that release ends
}

// listenerRun is one life of the listener, from the first path to the last.
type listenerRun struct {
	host   string // what the Host header must be
	server *http.Server
	ctx    context.Context // ended to cut connections off
	cancel context.CancelFunc
	conns  sync.WaitGroup // handlers at work
	done   chan struct{}  // closed when Serve has returned
}

// register gives w a secret path and returns the address to announce.
func (l *listener) register(w *pendingAsk) (string, error) {
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
	w.path = "/" + randomToken(16)
	l.pending[w.path] = w
	return "ws://" + l.run.host + w.path, nil
}

func (l *listener) serveLocked() error {
	// Bound to port 0 itself: looking for a free port first leaves a moment in
	// which another program can take it.
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
		ErrorLog:          log.New(io.Discard, "", 0), // it would print what strangers send
	}
	run.server.SetKeepAlivesEnabled(false)
	l.run, l.pending = run, map[string]*pendingAsk{}
	go func() {
		defer close(run.done)
		_ = run.server.Serve(socket)
	}()
	return nil
}

// release forgets w's path once repeats of its answer can't come any more. The
// last path takes the listener with it.
func (l *listener) release(w *pendingAsk) {
	if w.path == "" {
		return
	}
	time.AfterFunc(l.linger, func() {
		l.mu.Lock()
		delete(l.pending, w.path)
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

// stop ends the listener for good and returns when nothing of it runs any more.
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

// shutdown takes no new connection, lets those at work finish for a moment, and
// waits for all of it to end.
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

// beginHandler counts a handler, unless the listener has stopped.
func (l *listener) beginHandler(run *listenerRun) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run != run {
		return false
	}
	run.conns.Add(1)
	return true
}

// pendingAt is the question behind a path, or nil.
func (l *listener) pendingAt(path string) *pendingAsk {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pending[path]
}

func (l *listener) serveHTTP(run *listenerRun, rw http.ResponseWriter, r *http.Request) {
	if !l.beginHandler(run) {
		http.Error(rw, "nobody waits here any more", http.StatusServiceUnavailable)
		return
	}
	defer run.conns.Done()
	if _, fromPage := r.Header["Origin"]; fromPage {
		http.Error(rw, "web pages may not answer", http.StatusForbidden)
		return
	}
	if r.Host != run.host {
		http.Error(rw, "wrong host", http.StatusMisdirectedRequest)
		return
	}
	w := l.pendingAt(r.URL.Path)
	if w == nil {
		http.NotFound(rw, r)
		return
	}
	if challenge := r.Header.Get(schema.ChallengeHeader); challenge != "" {
		rw.Header().Set(schema.ProofHeader, schema.ListenerProof(w.question.ListenerKey, challenge))
	}
	conn, err := websocket.Accept(rw, r, nil)
	if err != nil {
		return
	}
	w.readAnswer(run.ctx, conn)
}

// readAnswer takes one message, and only one: whatever follows is thrown away.
func (w *pendingAsk) readAnswer(ctx context.Context, conn *websocket.Conn) {
	defer conn.CloseNow()
	stop := context.AfterFunc(ctx, func() { _ = conn.CloseNow() }) // Close below has no ctx
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	conn.SetReadLimit(maxMessageBytes)
	kind, frame, err := conn.Read(ctx)
	if err != nil {
		return // a frame over the limit was closed with 1009
	}
	if kind != websocket.MessageText {
		_ = conn.Close(websocket.StatusUnsupportedData, "answers are text")
		return
	}
	if w.handleControl(frame) {
		_ = conn.Close(websocket.StatusNormalClosure, "")
		return
	}
	m, err := readMessage(frame)
	result := w.handleMessage(m, err)
	if result == schema.AckAccepted {
		select {
		case <-w.delivered:
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
		_ = conn.Close(websocket.StatusPolicyViolation, "nobody waits for this")
	default:
		_ = conn.Close(websocket.StatusNormalClosure, "")
	}
}
