package alerts

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/live"
	"github.com/hookback/hookback/server/internal/store"
)

// forgetAfter is how long a session without events is watched: its agent was killed.
const forgetAfter = 24 * time.Hour

// scope is the subject of an alert; a rule has one open alert for each.
type scope struct {
	rule                 int64
	app, session, person string
}

func scopeOf(a *control.Alert) scope { return scope{a.Rule, a.SourceApp, a.SessionID, a.Person} }

// evaluate adds the alerts of a rule about sessions whose condition holds now.
func (f *Follower) evaluate(r *control.AlertRule, requests live.Requests, now time.Time, found map[scope]control.Alert) {
	for key, s := range f.Live.Sessions {
		quiet := now.Sub(time.UnixMilli(s.LastAt))
		if r.SourceApp != "" && r.SourceApp != key.App || quiet > forgetAfter {
			continue
		}
		if evidence := evidenceOf(r, s, quiet, len(requests[key]) > 0); evidence != "" {
			a := control.Alert{Rule: r.ID, Kind: r.Kind, SourceApp: key.App, SessionID: key.Session, Evidence: evidence}
			found[scopeOf(&a)] = a
		}
	}
}

// evidenceOf returns why the condition of a rule holds for the session; empty if it does not.
func evidenceOf(r *control.AlertRule, s *live.Activity, quiet time.Duration, asks bool) string {
	switch r.Kind {
	case control.AlertStuck:
		if s.InTurn && !asks && quiet >= time.Duration(r.Minutes)*time.Minute {
			return fmt.Sprintf("No event for %s in the middle of a turn.", control.Minutes(r.Minutes))
		}
	case control.AlertErrors:
		if failed, ok := s.FailedOf(r.Calls); ok && failed*100 >= r.Percent*r.Calls {
			return fmt.Sprintf("%d of the last %d calls failed.", failed, r.Calls)
		}
	case control.AlertLoop:
		switch calls, failures := s.Repeats(); {
		case failures >= r.Failures:
			return fmt.Sprintf("The same call failed %d times in a row with the same error.", r.Failures)
		case calls >= r.Calls:
			return fmt.Sprintf("The same call ran %d times in a row.", r.Calls)
		}
	}
	return ""
}

// evaluateSpend adds an alert for everything, or for each application or person, above the limit. The
// window moves in quarter-hours, as the stored spending does.
func evaluateSpend(ctx context.Context, s store.Projections, r *control.AlertRule, now time.Time, found map[scope]control.Alert) error {
	from := now.Add(-time.Duration(r.Minutes) * time.Minute).UnixMilli()
	groups, err := s.Spend(ctx, from/store.QuarterMS, now.UnixMilli()/store.QuarterMS+1)
	if err != nil {
		return err
	}
	sums := map[string]float64{}
	for g, spend := range groups {
		if g.Imported || r.SourceApp != "" && r.SourceApp != g.App {
			continue
		}
		name := map[string]string{control.PerApp: g.App, control.PerPerson: g.Person}[r.Per]
		if r.Per == control.PerPerson && name == "" {
			continue // unknown
		}
		sums[name] += spend.CostUSD
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if sums[name] <= r.USD {
			continue
		}
		who := cmp.Or(name, r.SourceApp, "All agents")
		evidence := fmt.Sprintf("%s spent more than %s in %s.", who, control.Dollars(r.USD), control.Minutes(r.Minutes))
		a := control.Alert{Rule: r.ID, Kind: r.Kind, Evidence: evidence}
		switch r.Per {
		case control.PerApp:
			a.SourceApp = name
		case control.PerPerson:
			a.Person = name
		}
		found[scopeOf(&a)] = a
	}
	return nil
}
