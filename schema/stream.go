package schema

import (
	"encoding/json"
	"time"
)

// FrameType is the type of a message on /stream.
type FrameType string

// The messages of /stream. Initial is version 1's only; Hello, StatusFrame,
// Resync and PresenceFrame are version 2's only.
const (
	Initial     FrameType = "initial" // data: [Event], once, on connect
	EventFrame  FrameType = "event"   // data: Event
	HelloFrame  FrameType = "hello"   // data: Hello, once, on connect
	StatusFrame FrameType = "status"  // data: StatusChange
	Resync      FrameType = "resync"  // data: Hello; the page must load its snapshot anew

	// PresenceFrame says who else is looking. It is no part of the log (no seq) and
	// goes only to pages that sent a Looking themselves.
	PresenceFrame FrameType = "presence" // data: Presence
)

// Frame is one message of /stream. A version 2 message may also be a JSON array
// of frames.
type Frame struct {
	Type FrameType       `json:"type"`
	Data json.RawMessage `json:"data"`
	Seq  int64           `json:"seq,omitempty"` // version 2: the frame's place in the hub's log
}

// Hello opens a version 2 stream.
type Hello struct {
	HubID      string `json:"hubId"` // of the database: another one means another history
	Seq        int64  `json:"seq"`   // the last number given out
	ServerTime Millis `json:"serverTime"`
	Version    string `json:"version"` // of the hub program
	// Page names the dashboard that the hub serves, by its content. A page that
	// sees another one than at its first hello is out of date.
	Page string `json:"page,omitempty"`
}

// ViewingMessageType is the type of a Looking.
const ViewingMessageType = "looking"

// ViewingMessage is the one message that a version 2 page sends on its stream: which
// request it shows. The hub forgets it when the socket closes.
type ViewingMessage struct {
	Type string  `json:"type" jsonschema:"enum=looking"`
	ID   EventID `json:"id,omitempty"` // 0: none
	// Focused: the page can be seen and has the keyboard. Whose sign-in it is need not be
	// told otherwise of what is asked. It holds for ViewingTimeout, and is said anew.
	Focused bool `json:"focused,omitempty"`
}

// ViewingTimeout is how long a page that said it is focused counts as looked at.
const ViewingTimeout = time.Minute

// Presence is how many pages follow the hub, the receiver among them, and which
// requests they show.
type Presence struct {
	Screens int             `json:"screens"`
	Looking []ViewedRequest `json:"looking"`
}

// ViewedRequest is a request that pages show right now.
type ViewedRequest struct {
	ID      EventID `json:"id"`
	Screens int     `json:"screens"`
}

// StatusChange tells a version 2 stream how a question's status is now.
type StatusChange struct {
	ID                   EventID `json:"id"`
	HumanInTheLoopStatus Status  `json:"humanInTheLoopStatus"`
}

// FilterOptions are the values a filter can offer, from GET /events/filter-options.
type FilterOptions struct {
	SourceApps     []string `json:"source_apps"`
	SessionIDs     []string `json:"session_ids"` // the newest 300
	HookEventTypes []string `json:"hook_event_types"`
	ToolNames      []string `json:"tool_names"`
}

// BatchResult is the result for one event of POST /events/batch: the saved event
// or why it was not saved.
type BatchResult struct {
	Event   *Event   `json:"event,omitempty"`
	Problem *Problem `json:"problem,omitempty"`
}

// Health is the body of GET /healthz and GET /readyz.
type Health struct {
	Status  string `json:"status"` // ok, starting, degraded, stopping
	Detail  string `json:"detail,omitempty"`
	Version string `json:"version"`
}
