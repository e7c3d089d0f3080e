package schema

import (
	"encoding/json"
	"time"
)

// FrameType is the type of a message on /stream.
type FrameType string

// The message types of /stream. Only version 1 sends Initial. Version 1 sends no other types than
// Initial and EventFrame.
//
// An Initial message is below 4 MiB. If the pending questions need more, the oldest are shortened: they
// have questionTruncated, the start of the question, its type and its choices, and GET /events/:id
// returns the complete question. With thousands of pending questions, the newest may be missing.
const (
	Initial     FrameType = "initial" // data: [Event]; once, on connect
	EventFrame  FrameType = "event"   // data: Event
	HelloFrame  FrameType = "hello"   // data: Hello; once, on connect
	StatusFrame FrameType = "status"  // data: StatusChange
	Resync      FrameType = "resync"  // data: Hello; the client must reload its snapshot

	// PresenceFrame reports the other open pages. It is not part of the log (no seq) and is sent
	// only to pages that sent a ViewingMessage.
	PresenceFrame FrameType = "presence" // data: Presence

	// MessageFrame reports that the messages to a session have changed. It is not part of the log (no
	// seq): a page that reconnects reads the messages again.
	MessageFrame FrameType = "message" // data: MessagesChanged

	// FreezeFrame reports the active freezes, all of them, on a version 2 stream: after the hello if
	// there are any, and after each change. It is not part of the log (no seq).
	FreezeFrame FrameType = "freeze" // data: [Freeze], see package control

	// HeartbeatFrame shows a page that the connection works, every 15 s on a version 2 stream: a script sees
	// no pings. It is not part of the log (no seq).
	HeartbeatFrame FrameType = "heartbeat" // data: Heartbeat

	// RiskFrame reports the rating of a tool call, about a second after its event and when it changes.
	// It is not part of the log (no seq): a page that reconnects reads the ratings again.
	RiskFrame  FrameType = "risk"  // data: RiskyCall
	AlertFrame FrameType = "alert" // data: [Alert], all open ones, see package control; no seq

	AllowanceFrame FrameType = "allowance" // data: [Rule], all active ones of the scope session; no seq
)

// Frame is one message of /stream. A version 2 message can also be a JSON array of frames.
type Frame struct {
	Type FrameType       `json:"type"`
	Data json.RawMessage `json:"data"`
	Seq  int64           `json:"seq,omitempty"` // version 2: sequence number in the hub's log
}

// Heartbeat is the data of a HeartbeatFrame.
type Heartbeat struct {
	ServerTime Millis `json:"serverTime"`
	// Poll ends each response to GET /stream?v=2&poll=…: the parameter of the next request.
	Poll string `json:"poll,omitempty"`
}

// Hello is the first message of a version 2 stream.
type Hello struct {
	HubID string `json:"hubId"` // id of the database; a different id means a different history
	Seq   int64  `json:"seq"`   // the last assigned sequence number
	// Epoch goes with a position that was received on this stream: after a restored backup, the same
	// number can be another event.
	Epoch      string `json:"epoch,omitempty"`
	ServerTime Millis `json:"serverTime"`
	Version    string `json:"version"` // of the hub program
	// Page is a content hash of the dashboard that the hub serves. If it differs from the one in a
	// page's first hello, the page is outdated.
	Page string `json:"page,omitempty"`
}

// ViewingMessageType is the type of a ViewingMessage.
const ViewingMessageType = "looking"

// ViewingMessage is the only message that a version 2 page sends on its stream: the request that it
// shows. The hub drops it when the socket closes.
type ViewingMessage struct {
	Type string  `json:"type" jsonschema:"enum=looking"`
	ID   EventID `json:"id,omitempty"` // 0 for none
	// Focused is set if the page is visible and has the keyboard focus. The signed-in person then
	// needs no notifications. It is valid for ViewingTimeout (1 minute) and must be repeated.
	Focused bool `json:"focused,omitempty"`
}

// ViewingTimeout is the time after which a focused page no longer counts as focused unless it
// repeats the message.
const ViewingTimeout = time.Minute

// Presence reports how many pages follow the hub, including the receiver, and which requests they
// show.
type Presence struct {
	Screens int             `json:"screens"`
	Looking []ViewedRequest `json:"looking"`
}

// ViewedRequest is a request that at least one page shows.
type ViewedRequest struct {
	ID      EventID `json:"id"`
	Screens int     `json:"screens"`
	// People lists the signed-in people among the viewers, at most MaxNamedViewers. Only signed-in
	// receivers get names.
	People []string `json:"people,omitempty"`
}

// MaxNamedViewers is the maximum number of names of one viewed request.
const MaxNamedViewers = 5

// StatusChange reports a new status of a question on a version 2 stream.
type StatusChange struct {
	ID                   EventID `json:"id"`
	HumanInTheLoopStatus Status  `json:"humanInTheLoopStatus"`
}

// FilterOptions lists the values that a filter can offer, from GET /events/filter-options.
type FilterOptions struct {
	SourceApps     []string `json:"source_apps"`
	SessionIDs     []string `json:"session_ids"` // the newest 300
	HookEventTypes []string `json:"hook_event_types"`
	ToolNames      []string `json:"tool_names"`
}

// BatchResult is the result for one event of POST /events/batch: the stored event, or the problem.
type BatchResult struct {
	Event   *Event   `json:"event,omitempty"`
	Problem *Problem `json:"problem,omitempty"`
}

// Health is the body of GET /healthz and GET /readyz.
type Health struct {
	Status  string `json:"status"` // ok, starting, degraded, draining or stopping
	Detail  string `json:"detail,omitempty"`
	Version string `json:"version"`
}
