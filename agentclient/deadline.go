package agentclient

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/hookback/hookback/agentclient/internal/deadline"
	"github.com/hookback/hookback/schema"
)

// handleControl processes a control frame and reports whether frame was one. Unknown
// kinds are ignored.
func (p *pendingAsk) handleControl(frame []byte) bool {
	var control schema.Control
	if json.Unmarshal(frame, &control) != nil || control.Type != schema.ControlType {
		return false
	}
	if control.Kind != schema.ControlDeadline {
		return true
	}
	update := deadline.Update{ReceivedAt: time.Now(), Remaining: waitDuration(control.InSeconds), Never: control.ExpiresAt == 0}
	if update.Remaining == 0 { // a hub that only sends the absolute time
		update.Remaining = time.Until(time.UnixMilli(int64(control.ExpiresAt)))
	}
	p.queueDeadline(update)
	return true
}

// handleDeadlineHeader processes schema.ExpiresHeader of a pull without an answer.
func (p *pendingAsk) handleDeadlineHeader(header string) {
	if header == schema.Never {
		p.queueDeadline(deadline.Update{Never: true})
		return
	}
	if n, err := strconv.ParseFloat(header, 64); err == nil && n > 0 {
		p.queueDeadline(deadline.Update{ReceivedAt: time.Now(), Remaining: waitDuration(n)})
	}
}

// waitDuration converts seconds to a duration, limited to schema.MaxTimeout.
func waitDuration(n float64) time.Duration {
	return time.Duration(min(max(n, 0), schema.MaxTimeout.Seconds()) * float64(time.Second))
}

// queueDeadline passes an update to the Ask goroutine. It replaces an update that is
// still unread.
func (p *pendingAsk) queueDeadline(update deadline.Update) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.deadlineUpdates:
	default:
	}
	p.deadlineUpdates <- update
}
