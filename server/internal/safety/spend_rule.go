package safety

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// SpendRule freezes sessions that cost more than the limit within its window. All fields are required
// except Log. It keeps no state: the rises of the cost are in the stored session, and the cost at
// its last freeze is in that freeze.
type SpendRule struct {
	Store  store.Freezes
	Hub    Hub
	Limits *Limits
	Clock  func() time.Time
	Log    *slog.Logger
}

// SessionSpent applies the limit to a session whose cost rose. A failure is retried at the next
// rise.
func (s *SpendRule) SessionSpent(ctx context.Context, key store.SessionKey, session *digest.Session) {
	limits := s.Limits.Active()
	if limits.SpendUSD == 0 || session.Sum.Ended || session.IsTelemetryOnly() { // a session without hooks can't be stopped
		return
	}
	spent := session.SpentSince(s.Clock().Add(-time.Duration(limits.SpendMinutes) * time.Minute).UnixMilli())
	if spent <= limits.SpendUSD || s.Store.FreezeOf(key.App, key.Session) != nil {
		return
	}
	earlier, err := s.Store.AutomaticFreezes(ctx, store.AutomaticFreezeFilter{Rule: control.RuleSpend, App: key.App, Session: key.Session, Limit: 1})
	if err == nil && len(earlier) > 0 && session.HighestCost >= earlier[0].CostUSD {
		// A person lifted that freeze, and with it accepted the spending before it.
		spent = min(spent, session.HighestCost-earlier[0].CostUSD)
	}
	if err == nil && spent > limits.SpendUSD {
		err = s.Hub.FreezeSession(ctx, control.Freeze{
			SourceApp: key.App, SessionID: key.Session, Rule: control.RuleSpend, CostUSD: session.HighestCost,
			Reason: fmt.Sprintf("Spent %s of %s in %s.", control.Dollars(spent), control.Dollars(limits.SpendUSD), control.Minutes(limits.SpendMinutes)),
		})
	}
	if err != nil && ctx.Err() == nil {
		s.Log.Error("automatic freeze failed; it is retried when the session spends more", "app", key.App, "session", key.Session, "err", err)
	}
}
