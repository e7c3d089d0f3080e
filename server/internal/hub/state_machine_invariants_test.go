package hub

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/store"
)

// checkInvariants checks the invariants of every question. Until the last call, it checks
// settled questions in the log only.
func (m *machine) checkInvariants(t *rapid.T, last bool) {
	m.readLog(t)
	for id, rec := range m.questions {
		require.LessOrEqual(t, rec.resolutions, 1, "a question is resolved once")
		require.LessOrEqual(t, rec.v1Messages, 2, "version 1 gets the question and its resolution")
		if rec.final != nil && !last {
			continue
		}
		q, err := m.Store.Question(t.Context(), id)
		require.NoError(t, err)
		st := decodeStatus(t, q.Status)
		require.GreaterOrEqual(t, st.Revision, rec.revision, "a revision never decreases")
		require.GreaterOrEqual(t, st.ExpiresAt, rec.expires, "a deadline never gets earlier")
		rec.revision, rec.expires = st.Revision, st.ExpiresAt
		rec.checkVotes(t, &st)
		require.Equal(t, st.IsSettled(), q.Delivery != nil, "a settled question has a delivery")
		require.Equal(t, st.IsSettled(), st.Delivery != nil)
		require.Equal(t, st.IsSettled(), q.Answer != nil)
		if !st.IsSettled() {
			require.Zero(t, rec.resolutions)
			require.True(t, st.ExpiresAt == 0 || int64(st.ExpiresAt) > m.now().UnixMilli(), "a pending question is past its deadline")
			require.Equal(t, q.UndoWindow != nil, st.Held != nil)
			continue
		}
		require.Equal(t, 1, rec.resolutions, "the log has one resolution")
		require.Nil(t, st.Held)
		if rec.final == nil {
			rec.final = &st
			rec.checkEnd(t, &st, m.answersTo(t, id, &st), q.Answer)
		}
		require.Equal(t, rec.final.Outcome, st.Outcome, "an outcome is final")
		require.Equal(t, rec.final.Response, st.Response)
		require.Equal(t, rec.final.Votes, st.Votes)
	}
}

// readLog counts the resolutions and version 1 messages of each question in the log.
func (m *machine) readLog(t *rapid.T) {
	for {
		rows, err := m.Store.After(t.Context(), m.readSeq, 512)
		require.NoError(t, err)
		if len(rows) == 0 {
			return
		}
		for _, row := range rows {
			m.readSeq = row.Seq
			rec := m.questions[row.Event.ID]
			if rec == nil {
				continue
			}
			require.False(t, row.Change && rec.resolutions > 0 && rec.outcomeOf(row) != rec.outcome, "an outcome is final")
			if row.Ends {
				rec.resolutions++
				rec.outcome = rec.outcomeOf(row)
			}
			if row.Ends || !row.Change {
				rec.v1Messages++
			}
		}
	}
}

// agreedChoice returns the choice with at least need votes. It is independent of winner,
// which the hub uses.
func agreedChoice(votes []schema.Vote, need int) (choice string) {
	for _, v := range votes {
		same := slices.DeleteFunc(slices.Clone(votes), func(o schema.Vote) bool { return o.Choice != v.Choice })
		if len(same) >= need {
			choice = v.Choice
		}
	}
	return choice
}

// outcomeOf returns the outcome of the question in a log row.
func (rec *questionRecord) outcomeOf(row store.LogRow) schema.Outcome {
	var st schema.Status
	_ = json.Unmarshal(row.Event.Status, &st)
	return st.Outcome
}

func (rec *questionRecord) checkVotes(t *rapid.T, st *schema.Status) {
	if st.EscalatedAt != 0 && rec.question.EscalateTo != nil && rec.recipients != nil {
		require.Subset(t, append(slices.Clone(rec.recipients), rec.question.EscalateTo.Members...), st.Recipients)
		require.Subset(t, st.Recipients, rec.recipients, "escalation removes no recipient")
		rec.recipients = st.Recipients
	}
	require.Equal(t, rec.recipients, st.Recipients, "recipients do not change")
	voters := map[string]bool{}
	for _, v := range st.Votes {
		require.False(t, voters[v.User], "%s has voted twice", v.User)
		voters[v.User] = true
		require.Contains(t, testUsers, v.User)
		require.True(t, rec.recipients == nil || slices.Contains(rec.recipients, v.User))
		require.Contains(t, slices.Collect(maps.Keys(rec.answers)), v.User+" "+v.Choice, "the hub accepted no such vote")
	}
	if isVoted(st) {
		voted := slices.DeleteFunc(slices.Collect(maps.Keys(voters)), func(string) bool { return rec.recipients == nil })
		require.Equal(t, len(rec.recipients), len(st.Awaiting)+len(voted))
	}
	rec.checkSeen(t, st.Votes, st.Edited)
	if !st.IsSettled() {
		require.Empty(t, agreedChoice(st.Votes, max(st.RequiredApprovals, 1)), "a question with a winning choice is pending")
	}
}

// checkSeen checks that every voter has seen the current arguments of the call.
func (rec *questionRecord) checkSeen(t *rapid.T, votes []schema.Vote, edited *schema.EditedCall) {
	if rec.question.ToolCall == nil || rec.question.RequiredApprovals <= 1 {
		return
	}
	now := string(rec.question.ToolCall.Arguments)
	if edited != nil {
		now = string(edited.Arguments)
	}
	for _, v := range votes {
		said := rec.answers[v.User+" "+v.Choice]
		require.JSONEq(t, now, said[len(said)-1], "%s voted on other arguments", v.User)
	}
}

// answersTo returns the accepted answers to a question and to its group leader. The leader may be
// newer: a question whose agent is lost follows one whose agent waits.
func (m *machine) answersTo(t *rapid.T, id schema.EventID, st *schema.Status) map[string][]string {
	own := m.questions[id]
	all := maps.Clone(own.answers)
	if first := m.questions[st.SameAs]; first != nil {
		require.NotEqual(t, id, st.SameAs)
		require.Equal(t, []any{own.question.Type, own.question.Choices, own.question.ToolCall, own.requester},
			[]any{first.question.Type, first.question.Choices, first.question.ToolCall, first.requester})
		require.False(t, isVoted(st), "questions that require votes are not grouped")
		for said, arguments := range first.answers {
			all[said] = append(slices.Clone(all[said]), arguments...)
		}
	}
	return all
}

// checkEnd checks the answer that is delivered against the accepted answers of people.
func (rec *questionRecord) checkEnd(t *rapid.T, st *schema.Status, answers map[string][]string, raw []byte) {
	var a schema.Answer
	require.NoError(t, json.Unmarshal(raw, &a))
	require.Equal(t, st.Outcome, a.Outcome)
	require.Equal(t, st.Votes, a.Votes)
	need := max(rec.question.RequiredApprovals, 1)
	byPeople := a.Source == schema.ByHuman || a.Source == schema.ByQuorum
	if !byPeople || a.Outcome == schema.NoQuorum {
		require.False(t, a.Permission != nil && *a.Permission, "approved by %s", a.Source)
		require.Nil(t, a.Choice)
		require.Nil(t, a.Response)
	}
	switch {
	case a.Outcome == schema.NoQuorum:
		require.True(t, len(a.Awaiting) == 0 || leadingVotes(a.Votes)+len(a.Awaiting) < need, "those who did not vote could decide")
		require.Empty(t, agreedChoice(a.Votes, need))
	case a.Source == schema.ByQuorum:
		require.Equal(t, string(a.Outcome), agreedChoice(a.Votes, need))
		require.Empty(t, agreedChoice(a.Votes[:len(a.Votes)-1], need), "an earlier vote had decided")
		require.Equal(t, a.Votes[len(a.Votes)-1].User, a.RespondedBy.Name)
	case a.Source == schema.ByHuman:
		require.Equal(t, 1, need)
		require.Contains(t, slices.Collect(maps.Keys(answers)), a.RespondedBy.Name+" "+string(a.Outcome))
	default:
		require.Empty(t, agreedChoice(a.Votes, need), "people had decided")
	}
	if rec.question.ToolCall == nil || a.Outcome != schema.Approve {
		require.Nil(t, a.ModifiedArguments)
		return
	}
	delivered := string(rec.question.ToolCall.Arguments)
	if a.ModifiedArguments != nil {
		require.True(t, rec.question.ToolCall.Editable)
		delivered = string(a.ModifiedArguments)
	}
	require.Contains(t, answers[a.RespondedBy.Name+" approve"], delivered)
}

// checkLedger reads the whole ledger. It must be one hash chain, have the resolutions of
// each question, and its last vote of each person must be the one that counted.
func (m *machine) checkLedger(t *rapid.T) {
	entries, err := m.Store.Ledger(t.Context(), store.LedgerPage{Oldest: true, Limit: 1 << 20})
	require.NoError(t, err)
	var check sign.LedgerCheck
	ends, votes := map[schema.EventID]int{}, map[schema.EventID]map[string]string{}
	for _, line := range entries {
		require.NoError(t, check.Next(line))
		var e sign.LedgerEntry
		var data struct{ Choice string }
		require.NoError(t, json.Unmarshal(line, &e))
		if e.Data != nil {
			require.NoError(t, json.Unmarshal(e.Data, &data))
		}
		switch e.Action {
		case "question.ended":
			ends[e.QuestionID]++
		case "question.edited":
			votes[e.QuestionID] = nil
		case "question.voted":
			require.Zero(t, ends[e.QuestionID], "a vote after the resolution")
			if votes[e.QuestionID] == nil {
				votes[e.QuestionID] = map[string]string{}
			}
			votes[e.QuestionID][e.Actor] = data.Choice
		}
	}
	for id, rec := range m.questions {
		require.Equal(t, rec.resolutions, ends[id])
		st := m.status(t, id)
		require.Len(t, votes[id], len(st.Votes))
		for _, v := range st.Votes {
			require.Equal(t, v.Choice, votes[id][v.User])
		}
	}
}
