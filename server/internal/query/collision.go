package query

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/hookback/hookback/agentclient/intent"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// collisionWindow is how long before a question a change by another agent counts as work on the same file.
	collisionWindow = 10 * time.Minute
	// collisionCandidates limits the results of tools that are read to find them, the newest.
	collisionCandidates = 500
	maxCollisions       = 5
)

// changedPaths returns the files that a call changes, absolute if its directory is known.
func changedPaths(c *question.Call, cwd string) (paths []string) {
	for _, change := range intent.Files(c.Name, c.Arguments) {
		paths = append(paths, absolute(change.Path, cwd))
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func absolute(name, cwd string) string {
	if !path.IsAbs(name) && cwd != "" {
		name = path.Join(cwd, name)
	}
	return path.Clean(name)
}

// collisionsOf returns the changes of the files of a question's call that other agents made since shortly before it: other
// sessions, and other subagents of its session. The newest of each comes first.
func (s *Service) collisionsOf(ctx context.Context, q *store.Question) (list []history.Collision, err error) {
	var ask schema.HumanInTheLoop
	if err := ask.UnmarshalJSON(q.Question); err != nil {
		return nil, err
	}
	asked := question.CallOf(&q.Event, &ask)
	files := changedPaths(asked, asked.Cwd)
	if c := ask.ToolCall; c != nil && c.Consequence != nil {
		files = append(files, c.Consequence.Changes...)
	}
	if len(files) == 0 {
		return nil, nil
	}
	results, err := s.Store.Find(ctx, store.Filter{Type: "PostToolUse", From: q.ReceivedAt.Add(-collisionWindow), Limit: collisionCandidates})
	for _, e := range slices.Backward(results) {
		if e.PayloadBytes > 0 { // lists leave out large payloads
			if e, _, err = s.Store.Event(ctx, e.ID); err != nil {
				return list, err
			}
		}
		c := question.CallOf(e, nil)
		if e.App == q.App && e.Session == q.Session && c.Facts.AgentID == asked.Facts.AgentID {
			continue
		}
		for _, name := range changedPaths(c, c.Cwd) {
			found := history.Collision{
				SourceApp: e.App, SessionID: e.Session, EventID: e.ID, Path: digest.OneLine(name, maxPath), At: schema.Millis(e.ReceivedAt.UnixMilli()),
			}
			isKnown := slices.ContainsFunc(list, func(c history.Collision) bool {
				return c.SourceApp == found.SourceApp && c.SessionID == found.SessionID && c.Path == found.Path
			})
			if isBelow(name, files) && !isKnown && len(list) < maxCollisions {
				list = append(list, found)
			}
		}
	}
	return list, err
}
