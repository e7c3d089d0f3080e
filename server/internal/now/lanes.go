package now

import (
	"cmp"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/live"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// workingFor is how long after its last event an agent counts as working.
	workingFor = time.Minute
	// maxCallTime is how long a tool call without further events counts as work.
	maxCallTime = 10 * time.Minute
	// maxRequests limits the requests of a lane.
	maxRequests = 20
)

// view makes the lanes of one caller.
type view struct {
	freezes   store.Freezes
	now       int64 // Unix ms
	first     int64 // number of the first bucket
	me        string
	mayDecide bool
	tracker   *live.Tracker
	requests  live.Requests
}

// fill adds the lanes and the figures about them to the report.
func (v *view) fill(r *history.NowReport, active []history.Session) {
	lanes := make([]history.NowLane, len(active))
	for i := range active {
		lanes[i] = v.lane(&active[i])
		if lanes[i].State == history.LaneWorking {
			r.Working++
		}
	}
	if v.mayDecide {
		r.NeedsYou = query.CountNeeds(v.tracker.Open, func(q *live.Request) *query.OpenRequest { return &q.OpenRequest }, v.me)
	}
	slices.SortStableFunc(lanes, func(a, b history.NowLane) int {
		return cmp.Or(cmp.Compare(rank(a.State), rank(b.State)), cmp.Compare(b.LastAt, a.LastAt))
	})
	shown := min(len(lanes), history.MaxLanes)
	r.Lanes, r.MoreLanes = lanes[:shown], int64(len(lanes)-shown)
	for i := range r.Lanes {
		v.addStrip(&r.Lanes[i])
	}
}

func (v *view) needsCaller(q *live.Request) bool {
	return v.mayDecide && q.IsLive() && q.MayAnswer(v.me)
}

// lane returns the lane of a session without its strip.
func (v *view) lane(s *history.Session) history.NowLane {
	lane := history.NowLane{
		SourceApp: s.SourceApp, SessionID: s.SessionID, Title: s.Title, Ended: s.Ended, StartedAt: s.StartedAt, LastAt: s.LastAt,
		BlockedMS: s.HumanWaitMS, CostUSD: s.CostUSD, Failures: s.Failures,
	}
	if a := v.tracker.Sessions[keyOf(s)]; a != nil {
		lane.Failing = a.IsFailing() && !s.Ended
		lane.Phase = a.Phase
		if a.Last.ID > 0 {
			lane.Last, lane.LastAt = new(a.Last), max(lane.LastAt, a.Last.At)
		}
		if !s.Ended {
			lane.Step = a.Step()
		}
	}
	asks, waits, lost := v.addRequests(&lane, v.requests[keyOf(s)])
	switch {
	case asks != nil:
		lane.State = history.LaneNeedsYou
	case waits != nil:
		lane.State = history.LaneIdle // until others have voted
	case !lane.Ended && v.freezes.FreezeOf(s.SourceApp, s.SessionID) != nil:
		lane.State = history.LaneFrozen
	case lost != nil && (lane.Last == nil || lane.Last.ID <= lost.ID):
		lane.State = history.LaneGone
	default:
		lane.State = v.activityState(&lane)
	}
	if q := cmp.Or(asks, waits); q != nil {
		lane.Step = &history.NowStep{Text: q.Text, Since: schema.Millis(q.AskedAt)}
		lane.BlockedMS += max(0, v.now-int64(s.LastAt)) // up to its last event the session has counted it
	}
	return lane
}

// addRequests adds the open requests of the session. It returns the oldest one that needs the caller, the oldest one
// that waits for anyone, and the newest one for which the agent no longer listens.
func (v *view) addRequests(lane *history.NowLane, requests []*live.Request) (asks, waits, lost *live.Request) {
	for _, q := range requests {
		if len(lane.Requests) < maxRequests {
			lane.Requests = append(lane.Requests, q.ID)
		}
		switch {
		case q.IsBlocking():
			waits = cmp.Or(waits, q)
			if asks == nil && v.needsCaller(q) {
				asks = q
			}
		case q.Asks && !q.Later:
			lost = q
		}
	}
	return asks, waits, lost
}

// activityState returns the state of a lane without requests. agentState of the dashboard has the same order.
func (v *view) activityState(lane *history.NowLane) history.LaneState {
	idle := time.Duration(v.now-int64(lane.LastAt)) * time.Millisecond
	switch {
	case lane.Ended:
		return history.LaneEnded
	case lane.Failing:
		return history.LaneFailing
	case lane.Phase == history.PhaseTerminal:
		return history.LaneTerminal
	case lane.Phase != "":
		return history.LaneIdle
	case idle < workingFor, lane.Step != nil && idle < maxCallTime:
		return history.LaneWorking
	default:
		return history.LaneIdle
	}
}

// order is the order of the lanes by state.
var order = []history.LaneState{
	history.LaneNeedsYou, history.LaneFailing, history.LaneTerminal, history.LaneWorking, history.LaneIdle,
	history.LaneFrozen, history.LaneGone, history.LaneEnded,
}

func rank(state history.LaneState) int { return slices.Index(order, state) }

// addStrip adds the last ten minutes.
func (v *view) addStrip(lane *history.NowLane) {
	key := store.SessionKey{App: lane.SourceApp, Session: lane.SessionID}
	var waits []history.NowWait
	if a := v.tracker.Sessions[key]; a != nil {
		lane.Buckets = a.BucketsFrom(v.first)
		waits = slices.Clone(a.Waits)
	}
	for _, q := range v.requests[key] {
		if q.IsBlocking() {
			waits = append(waits, history.NowWait{From: schema.Millis(q.AskedAt)})
		}
	}
	lane.Waits = mergeWaits(waits, v.first*live.BucketMS)
}

// mergeWaits returns the union of the intervals after from. To is 0 for one that has not ended.
func mergeWaits(waits []history.NowWait, from int64) []history.NowWait {
	slices.SortFunc(waits, func(a, b history.NowWait) int { return cmp.Compare(a.From, b.From) })
	var union []history.NowWait
	for _, w := range waits {
		if w.To != 0 && int64(w.To) <= from {
			continue
		}
		w.From = max(w.From, schema.Millis(from))
		last := len(union) - 1
		if last < 0 || union[last].To != 0 && union[last].To < w.From {
			union = append(union, w)
		} else if union[last].To != 0 && (w.To == 0 || w.To > union[last].To) {
			union[last].To = w.To
		}
	}
	return union
}

func keyOf(s *history.Session) store.SessionKey {
	return store.SessionKey{App: s.SourceApp, Session: s.SessionID}
}
