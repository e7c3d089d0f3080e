package fakehub

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// ReferenceServer imitates the public server of protocol version 1, including its
// faults: it validates almost nothing, answers unknown paths with 200 and plain text,
// overwrites answers, sends back any hookEvent that the browser sent, and never learns
// whether an answer arrived.
type ReferenceServer struct {
	server  *http.Server
	done    chan struct{}
	address string

	mu     sync.Mutex
	events []map[string]any
	added  chan struct{} // closed and replaced when events grows
}

// StartReferenceServer starts a server on a loopback port.
func StartReferenceServer() (*ReferenceServer, error) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &ReferenceServer{address: socket.Addr().String(), done: make(chan struct{}), added: make(chan struct{})}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		defer close(r.done)
		_ = r.server.Serve(socket)
	}()
	return r, nil
}

// Stop stops the server.
func (s *ReferenceServer) Stop() {
	_ = s.server.Close()
	<-s.done
}

// URL returns the server's address.
func (s *ReferenceServer) URL() string { return "http://" + s.address }

// Event waits for the n-th event, counted from 1, and returns it as a dashboard has it.
func (s *ReferenceServer) Event(ctx context.Context, n int) (map[string]any, error) {
	return waitForEvent(ctx, n, func() (chan struct{}, []map[string]any) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.added, s.events
	})
}

// ServeHTTP answers every path, as the reference server does.
func (s *ReferenceServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS")
	h.Set("Access-Control-Allow-Headers", "Content-Type")
	id, respond := strings.CutSuffix(r.URL.Path, "/respond")
	switch {
	case r.Method == http.MethodOptions:
	case r.Method == http.MethodPost && r.URL.Path == "/events":
		s.ingest(w, r)
	case r.Method == http.MethodPost && respond:
		s.respond(w, r, strings.TrimPrefix(id, "/events/"))
	default:
		h.Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte("Multi-Agent Observability Server"))
	}
}

func (s *ReferenceServer) ingest(w http.ResponseWriter, r *http.Request) {
	var e map[string]any
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
		writeError(w, http.StatusBadRequest, "Invalid request")
		return
	}
	for _, name := range []string{"source_app", "session_id", "hook_event_type", "payload"} {
		if v := e[name]; v == nil || v == "" || v == false || v == 0.0 {
			writeError(w, http.StatusBadRequest, "Missing required fields")
			return
		}
	}
	s.mu.Lock()
	e["id"] = len(s.events) + 1
	if e["humanInTheLoop"] != nil && e["humanInTheLoopStatus"] == nil {
		e["humanInTheLoopStatus"] = map[string]any{"status": "pending"}
	}
	s.events = append(s.events, e)
	close(s.added)
	s.added = make(chan struct{})
	s.mu.Unlock()
	writeJSON(w, e)
}

func (s *ReferenceServer) respond(w http.ResponseWriter, r *http.Request, id string) {
	n, _ := strconv.Atoi(id)
	s.mu.Lock()
	var e map[string]any
	if n > 0 && n <= len(s.events) {
		e = s.events[n-1]
	}
	s.mu.Unlock()
	if e == nil {
		writeError(w, http.StatusNotFound, "Event not found")
		return
	}
	var answer map[string]any
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || answer == nil {
		writeError(w, http.StatusBadRequest, "Invalid request")
		return
	}
	answer["respondedAt"] = time.Now().UnixMilli()
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	if q, ok := e["humanInTheLoop"].(map[string]any); ok {
		_ = deliver(ctx, q["responseWebSocketUrl"].(string), answer) // the reference server only logs a failure
	}
	writeJSON(w, map[string]any{"id": n, "humanInTheLoopStatus": map[string]any{"status": "responded", "response": answer}})
}

// deliver dials, sends, waits half a second regardless of the other side, and closes
// without a status.
func deliver(ctx context.Context, address string, answer map[string]any) error {
	conn, _, err := websocket.Dial(ctx, address, &websocket.DialOptions{CompressionMode: websocket.CompressionContextTakeover})
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	frame, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	if err := conn.Write(ctx, websocket.MessageText, frame); err != nil {
		return err
	}
	conn.CloseRead(ctx) // answers the other side's close, as Bun does
	<-time.After(500 * time.Millisecond)
	return conn.Close(websocket.StatusNoStatusRcvd, "")
}

func writeError(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": text})
}
