package hub

import (
	"context"
	"encoding/json"
	"math"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// A person can answer a permission with a question (askBack). If the session then asks for the
// same call again, the new question follows the first one, so that its reader sees what was
// asked. Only the newest askBack of a call counts.

// followedQuestion returns the question that a new one follows, or 0.
func (h *Hub) followedQuestion(ctx context.Context, e *store.Event, q *schema.HumanInTheLoop) schema.EventID {
	if h.askBacks.IsEmpty() {
		return 0
	}
	key, ok := askBackKeyOf(e, q)
	if !ok {
		return 0
	}
	id := h.askBacks.Get(key)
	if id == 0 {
		return 0
	}
	first, err := h.readSnapshot(ctx, id)
	if err != nil || !h.isRecentAskBack(&first.Status) { // such as an undone answer
		return 0
	}
	return id
}

func (h *Hub) isRecentAskBack(st *schema.Status) bool {
	since := h.nowMillis() - schema.Millis(schema.AskBackWindow.Milliseconds())
	return st.Response != nil && st.Response.AskBack != "" && st.RespondedAt >= since
}

// askBackPage is the number of questions that are read at startup to find the ones in the window.
const askBackPage = 250

// loadAskBacks finds the questions that were answered before the hub restarted.
func (h *Hub) loadAskBacks(ctx context.Context) {
	newest, err := h.Store.Questions(ctx, math.MaxInt64, askBackPage)
	if err != nil {
		h.Log.Error("newest questions not read; a repeated request may not show the question of a person", "err", err)
	}
	for i := len(newest) - 1; i >= 0; i-- { // oldest first: the newest one counts
		var st schema.Status
		if json.Unmarshal(newest[i].Status, &st) == nil && h.isRecentAskBack(&st) {
			h.rememberAskBack(newest[i])
		}
	}
}
