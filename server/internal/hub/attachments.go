package hub

import (
	"time"

	"github.com/hookback/hookback/schema"
)

// DefaultReconnectGrace is the default of Config.ReconnectGrace.
const DefaultReconnectGrace = 10 * time.Second

// Attach records that an open request waits for the answer of a question. See lifeline.Requests.
func (h *Hub) Attach(id schema.EventID) (detach func(isLost bool)) { return h.requests.Attach(id) }
