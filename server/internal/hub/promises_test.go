package hub

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// check holds every question against what may never happen; of those that have ended
// it looks at the log only, until the last time.
func (m *machine) check(t *rapid.T, last bool) {
	m.follow(t)
	for id, k := range m.known {
		require.LessOrEqual(t, k.ends, 1, "one end")
		require.LessOrEqual(t, k.whole, 2, "version 1 hears of it when it is asked and when it ends")
		if k.end != nil && !last {
			continue
		}
		q, err := m.Store.Question(t.Context(), id)
		require.NoError(t, err)
		st := m.status(t, id)
		require.GreaterOrEqual(t, st.Revision, k.revision, "a revision never goes back")
		require.GreaterOrEqual(t, st.ExpiresAt, k.expires, "a deadline never gets earlier")
		k.revision, k.expires = st.Revision, st.ExpiresAt
		k.checkVotes(t, &st)
		require.Equal(t, st.Settled(), q.Delivery != nil, "an end has a delivery")
		require.Equal(t, st.Settled(), st.Delivery != nil)
		require.Equal(t, st.Settled(), q.Answer != nil)
		if !st.Settled() {
			require.Zero(t, k.ends)
			require.True(t, st.ExpiresAt == 0 || int64(st.ExpiresAt) > m.now().UnixMilli(), "its time is over")
			require.Equal(t, q.UndoWindow != nil, st.Held != nil)
			continue
		}
		require.Equal(t, 1, k.ends, "one end")
		require.Nil(t, st.Held)
		if k.end == nil {
			k.end = &st
			k.checkEnd(t, &st, m.answersTo(t, id, &st), q.Answer)
		}
		require.Equal(t, k.end.Outcome, st.Outcome, "an end is for good")
		require.Equal(t, k.end.Response, st.Response)
		require.Equal(t, k.end.Votes, st.Votes)
	}
}

// follow counts what the log tells of each question.
func (m *machine) follow(t *rapid.T) {
	for {
		rows, err := m.Store.After(t.Context(), m.seq, 512)
		require.NoError(t, err)
		if len(rows) == 0 {
			return
		}
		for _, row := range rows {
			m.seq = row.Seq
			k := m.known[row.Event.ID]
			if k == nil {
				continue
			}
			require.False(t, row.Change && k.ends > 0 && k.outcomeOf(row) != k.outcome, "an end is for good")
			if row.Ends {
				k.ends++
				k.outcome = k.outcomeOf(row)
			}
			if row.Ends || !row.Change {
				k.whole++
			}
		}
	}
}

// agreed is the choice that need people made; counted here once more.
func agreed(votes []schema.Vote, need int) (choice string) {
	for _, v := range votes {
		same := slices.DeleteFunc(slices.Clone(votes), func(o schema.Vote) bool { return o.Choice != v.Choice })
		if len(same) >= need {
			choice = v.Choice
		}
	}
	return choice
}

// outcomeOf is how the question stands after a change.
func (k *remembered) outcomeOf(row store.LogRow) schema.Outcome {
	var st schema.Status
	_ = json.Unmarshal(row.Event.Status, &st)
	return st.Outcome
}

func (k *remembered) checkVotes(t *rapid.T, st *schema.Status) {
	if st.EscalatedAt != 0 && k.asked.EscalateTo != nil && k.recipients != nil {
		require.Subset(t, append(slices.Clone(k.recipients), k.asked.EscalateTo.Members...), st.Recipients)
		require.Subset(t, st.Recipients, k.recipients, "nobody is taken away")
		k.recipients = st.Recipients
	}
	require.Equal(t, k.recipients, st.Recipients, "they are frozen")
	voters := map[string]bool{}
	for _, v := range st.Votes {
		require.False(t, voters[v.User], "%s has voted twice", v.User)
		voters[v.User] = true
		require.Contains(t, crew, v.User)
		require.True(t, k.recipients == nil || slices.Contains(k.recipients, v.User))
		require.Contains(t, slices.Collect(maps.Keys(k.answers)), v.User+" "+v.Choice, "nobody said that")
	}
	if requiresVotes(st) {
		require.Equal(t, len(k.recipients), len(st.Awaiting)+len(slices.DeleteFunc(slices.Collect(maps.Keys(voters)), func(string) bool { return k.recipients == nil })))
	}
	k.checkSeen(t, st.Votes, st.Edited)
	if !st.Settled() {
		require.Empty(t, agreed(st.Votes, max(st.RequiredApprovals, 1)), "it is decided and goes on")
	}
}

// checkSeen: whoever voted for a call has seen the call as it is now.
func (k *remembered) checkSeen(t *rapid.T, votes []schema.Vote, edited *schema.EditedCall) {
	if k.asked.ToolCall == nil || k.asked.RequiredApprovals <= 1 {
		return
	}
	now := string(k.asked.ToolCall.Arguments)
	if edited != nil {
		now = string(edited.Arguments)
	}
	for _, v := range votes {
		said := k.answers[v.User+" "+v.Choice]
		require.JSONEq(t, now, said[len(said)-1], "%s voted on something else", v.User)
	}
}

// answersTo are what was said to a question, or to the card that it was on with others.
func (m *machine) answersTo(t *rapid.T, id schema.EventID, st *schema.Status) map[string][]string {
	all := maps.Clone(m.known[id].answers)
	if first := m.known[st.SameAs]; first != nil {
		require.Less(t, st.SameAs, id)
		require.False(t, requiresVotes(st), "who votes votes on one")
		for said, arguments := range first.answers {
			all[said] = append(slices.Clone(all[said]), arguments...)
		}
	}
	return all
}

// checkEnd holds the answer that goes out against what people said.
func (k *remembered) checkEnd(t *rapid.T, st *schema.Status, answers map[string][]string, raw []byte) {
	var a schema.Answer
	require.NoError(t, json.Unmarshal(raw, &a))
	require.Equal(t, st.Outcome, a.Outcome)
	require.Equal(t, st.Votes, a.Votes)
	need := max(k.asked.RequiredApprovals, 1)
	byPeople := a.Source == schema.ByHuman || a.Source == schema.ByQuorum
	if !byPeople || a.Outcome == schema.NoQuorum {
		require.False(t, a.Permission != nil && *a.Permission, "approved by %s", a.Source)
		require.Nil(t, a.Choice)
		require.Nil(t, a.Response)
	}
	switch {
	case a.Outcome == schema.NoQuorum:
		require.Empty(t, a.Awaiting)
		require.Empty(t, agreed(a.Votes, need))
	case a.Source == schema.ByQuorum:
		require.Equal(t, string(a.Outcome), agreed(a.Votes, need))
		require.Empty(t, agreed(a.Votes[:len(a.Votes)-1], need), "it was decided before")
		require.Equal(t, a.Votes[len(a.Votes)-1].User, a.RespondedBy.Name)
	case a.Source == schema.ByHuman:
		require.Equal(t, 1, need)
		require.Contains(t, slices.Collect(maps.Keys(answers)), a.RespondedBy.Name+" "+string(a.Outcome))
	default:
		require.Empty(t, agreed(a.Votes, need), "people had decided it")
	}
	if k.asked.ToolCall == nil || a.Outcome != schema.Approve {
		require.Nil(t, a.ModifiedArguments)
		return
	}
	delivered := string(k.asked.ToolCall.Arguments)
	if a.ModifiedArguments != nil {
		require.True(t, k.asked.ToolCall.Editable)
		delivered = string(a.ModifiedArguments)
	}
	require.Contains(t, answers[a.RespondedBy.Name+" approve"], delivered)
}

// checkLedger reads the whole ledger: one chain, in which each question ends as often as
// it did, and whose last votes are those that counted.
func (m *machine) checkLedger(t *rapid.T) {
	entries, err := m.Store.Ledger(t.Context(), store.LedgerPage{Oldest: true, Limit: 1 << 20})
	require.NoError(t, err)
	var check schema.LedgerCheck
	ends, votes := map[schema.EventID]int{}, map[schema.EventID]map[string]string{}
	for _, line := range entries {
		require.NoError(t, check.Next(line))
		var e schema.LedgerEntry
		var data voteRecord
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
			require.Zero(t, ends[e.QuestionID], "a vote after the end")
			if votes[e.QuestionID] == nil {
				votes[e.QuestionID] = map[string]string{}
			}
			votes[e.QuestionID][e.Actor] = data.Choice
		}
	}
	for id, k := range m.known {
		require.Equal(t, k.ends, ends[id])
		st := m.status(t, id)
		require.Len(t, votes[id], len(st.Votes))
		for _, v := range st.Votes {
			require.Equal(t, v.Choice, votes[id][v.User])
		}
	}
}
