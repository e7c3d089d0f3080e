package query

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// resultOf returns the history.CallResult of the call of a question as JSON; nil before its end is known.
func (s *Service) resultOf(ctx context.Context, q *store.Question) ([]byte, error) {
	var st schema.Status
	if err := json.Unmarshal(q.Status, &st); err != nil {
		return nil, fmt.Errorf("read stored status of question %d: %w", q.ID, err)
	}
	if st.Execution == nil || st.Execution.EventID == 0 {
		return nil, nil
	}
	end, _, err := s.Store.Event(ctx, st.Execution.EventID)
	if err != nil {
		if errors.Is(err, schema.ErrNotFound) { // removed by retention
			return nil, nil
		}
		return nil, err
	}
	var asked schema.HumanInTheLoop
	if err := asked.UnmarshalJSON(q.Question); err != nil {
		return nil, fmt.Errorf("read stored question %d: %w", q.ID, err)
	}
	result := digest.ResultOf(end.Payload)
	ran := question.CallOf(end, nil)
	cwd := cmp.Or(question.CallOf(&q.Event, &asked).Cwd, ran.Cwd)
	result.Files = append(result.Files, changedPaths(ran, cwd)...)
	for i, name := range result.Files {
		result.Files[i] = digest.OneLine(absolute(name, cwd), maxPath)
	}
	slices.Sort(result.Files)
	result.Files = slices.Compact(result.Files)
	lines, files := len(result.Lines), len(result.Files)
	return json.Marshal(history.CallResult{
		Lines:     append([]string{}, result.Lines[max(0, lines-history.MaxResultLines):]...),
		MoreLines: int64(max(0, lines-history.MaxResultLines)), ExitStatus: result.Exit,
		Files: result.Files[:min(files, history.MaxResultFiles)], MoreFiles: int64(max(0, files-history.MaxResultFiles)),
		Differs: differences(asked.ToolCall, &result),
	})
}

// maxPath is how many characters of a path are shown.
const maxPath = 1000

// removedLine is a line by which a program reports a file that it deleted: rm -v, git clean, git rm.
var removedLine = regexp.MustCompile(`^(?:removed (?:directory )?['‘"]|Removing \S|rm ')`)

// differences returns the effects of a call that the consequence of its question did not announce. Without a consequence, or
// if it is partial and so a lower bound, there is nothing to compare.
func differences(asked *schema.ToolCall, r *digest.CallResult) (list []string) {
	if asked == nil || asked.Consequence == nil || asked.Consequence.Partial {
		return nil
	}
	c := asked.Consequence
	if c.Files != nil {
		removed := int64(0)
		for _, line := range r.Lines {
			if removedLine.MatchString(line) {
				removed++
			}
		}
		if removed > *c.Files {
			list = append(list, fmt.Sprintf("It reported %d deleted files; %d were announced.", removed, *c.Files))
		}
	}
	if c.Files == nil && len(c.Changes) == 0 || len(c.Changes) >= schema.MaxChanged { // it may leave some out
		return list
	}
	for _, file := range r.Files {
		if !isBelow(file, c.Changes) && len(list) < maxDifferences {
			list = append(list, fmt.Sprintf("It changed %s, which was not announced.", file))
		}
	}
	return list
}

// isBelow reports whether a file is one of these files and directories, or in one of them.
func isBelow(file string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return file == root || strings.HasPrefix(file, strings.TrimSuffix(root, "/")+"/")
	})
}

// maxDifferences limits the sentences.
const maxDifferences = 5
