package hub

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// setPeople stores people: the first is the owner, names with the prefix "op-" are
// operators and all others are admins.
func (h *testHub) setPeople(names ...string) {
	h.t.Helper()
	var c store.PeopleChange
	for i, name := range names {
		role := schema.Admin
		if strings.HasPrefix(name, "op-") {
			role = schema.Operator
		}
		c.Persons = append(c.Persons, store.Person{Name: name, Role: role, Owner: i == 0, CreatedAt: time.UnixMilli(1)})
	}
	_, err := h.Store.(store.Store).ChangePeople(h.t.Context(), &c)
	require.NoError(h.t, err)
	h.loadPeople()
}

// loadPeople opens the account service on the people in the store.
func (h *testHub) loadPeople() {
	h.t.Helper()
	p, err := auth.Open(h.t.Context(), auth.Config{Store: h.Store.(store.Store), Feed: h.Feed, Clock: h.Clock})
	require.NoError(h.t, err)
	h.People, h.env.Accounts = p, accounts{p}
	h.query.People = p
}

// as returns a caller with a session of the named person.
func (h *testHub) as(name string) Caller {
	who, ok := h.People.IdentityOf(name, "session")
	require.True(h.t, ok, name)
	return Caller{Identity: who}
}

// vote responds as name and returns the status afterwards, also with an error.
func (h *testHub) vote(id schema.EventID, name string, r *schema.Response) (schema.Status, error) {
	h.t.Helper()
	raw, err := h.Respond(h.t.Context(), id, r, h.as(name))
	if err != nil {
		return h.status(id), err
	}
	return *decodeEvent(h.t, raw).HumanInTheLoopStatus, nil
}

func (h *testHub) mustVote(id schema.EventID, name string, r *schema.Response) schema.Status {
	h.t.Helper()
	st, err := h.vote(id, name, r)
	require.NoError(h.t, err, name)
	return st
}

// pullAnswer returns the answer that the agent gets.
func (h *testHub) pullAnswer(id schema.EventID) (a schema.Answer) {
	h.t.Helper()
	raw, err := h.Pull(h.t.Context(), id, PullOptions{Secret: h.env.RequestSecret(h.uid(id))})
	require.NoError(h.t, err)
	require.NotNil(h.t, raw)
	require.NoError(h.t, json.Unmarshal(raw, &a))
	return a
}

func (h *testHub) uid(id schema.EventID) string {
	raw, err := h.query.Event(h.t.Context(), id)
	require.NoError(h.t, err)
	return decodeEvent(h.t, raw).UID
}

// ledgerLines returns the ledger entries of a question, such as "ada voted approve", after
// verifying the hash chain of the ledger.
func (h *testHub) ledgerLines(id schema.EventID) (acts []string) {
	h.t.Helper()
	entries, err := h.Store.Ledger(h.t.Context(), store.LedgerPage{Oldest: true, Limit: 1 << 20})
	require.NoError(h.t, err)
	var check sign.LedgerCheck
	for _, line := range entries {
		require.NoError(h.t, check.Next(line))
		var e sign.LedgerEntry
		require.NoError(h.t, json.Unmarshal(line, &e))
		var data struct {
			Choice  string
			Outcome schema.Outcome
		}
		require.NoError(h.t, json.Unmarshal(e.Data, &data))
		if e.QuestionID == id {
			acts = append(acts, strings.TrimSpace(e.Actor+" "+strings.TrimPrefix(e.Action, "question.")+" "+data.Choice+string(data.Outcome)))
		}
	}
	return acts
}

const (
	twoOfThree       = `{"question":"Deploy?","type":"permission","requiredApprovals":2,"recipients":{"mode":"selected_members","members":["ada","grace","linus"]}}`
	editableQuestion = `{"question":"Remove it?","type":"permission","requiredApprovals":2,"toolCall":{"name":"Bash","arguments":{"command":"ls"},"editable":true}}`
	choiceQuestion   = `{"question":"Which?","type":"choice","choices":["ship_it","needs_revision","abandon"],"requiredApprovals":2}`
)

func withComment(r *schema.Response, comment string) *schema.Response {
	c := *r
	c.Comment = comment
	return &c
}

func choose(label string) *schema.Response { return &schema.Response{Choice: &label} }

func editedApproval(arguments string, revision int64) *schema.Response {
	r := approval()
	r.ModifiedArguments, r.Revision = json.RawMessage(arguments), revision
	return r
}

func voteSummaries(votes []schema.Vote) (all []string) {
	for _, v := range votes {
		all = append(all, v.User+" "+v.Choice)
	}
	return all
}

func TestVotes_FirstChoiceWithQuorumWins(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace", "linus")
	id, _ := h.ask(twoOfThree)
	st := h.status(id)
	require.Equal(t, []string{"ada", "grace", "linus"}, st.Recipients)
	require.Equal(t, st.Recipients, st.Awaiting)

	st = h.mustVote(id, "ada", withComment(approval(), "Only the old ones."))
	require.Equal(t, schema.Pending, st.Status)
	require.Equal(t, []string{"grace", "linus"}, st.Awaiting)
	require.Empty(t, h.dispatched())
	st = h.mustVote(id, "grace", denial())
	require.Equal(t, []string{"linus"}, st.Awaiting)
	st = h.mustVote(id, "linus", withComment(approval(), "Go."))

	require.Equal(t, schema.Responded, st.Status)
	require.Equal(t, schema.Approve, st.Outcome)
	require.Equal(t, schema.ByQuorum, st.Source)
	require.Equal(t, "linus", st.RespondedBy.Name)
	require.True(t, st.RespondedBy.Verified)
	require.Equal(t, []string{"ada approve", "grace deny", "linus approve"}, voteSummaries(st.Votes))
	require.Nil(t, st.Response.Votes, "votes are in the status, not repeated in the response")

	a := h.pullAnswer(id)
	require.True(t, *a.Permission)
	require.Equal(t, voteSummaries(st.Votes), voteSummaries(a.Votes))
	require.Equal(t, "Only the old ones.", a.Votes[0].Comment)
	require.Equal(t, 2, a.RequiredApprovals)
	require.Empty(t, a.Awaiting)
	require.Equal(t, "2 people approved exactly this. Their comments: ada: Only the old ones.; linus: Go.", a.Guidance)
	require.Equal(t, []string{"ada voted approve", "grace voted deny", "linus voted approve", "linus ended approve"}, h.ledgerLines(id))
}

func TestVotes_CustomChoicesNeedQuorum(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace", "linus", "op-kay")
	id, _ := h.ask(choiceQuestion)
	require.Equal(t, []string{"ada", "grace", "linus"}, h.status(id).Recipients, "owner and admins by default")
	h.mustVote(id, "ada", choose("ship_it"))
	h.mustVote(id, "grace", choose("abandon"))
	st := h.mustVote(id, "linus", choose("abandon"))
	require.Equal(t, schema.Outcome("abandon"), st.Outcome)
	require.Equal(t, "abandon", *h.pullAnswer(id).Choice)
}

func TestVotes_NoAgreementEndsWithoutQuorum(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace", "linus")
	id, _ := h.ask(choiceQuestion)
	h.mustVote(id, "ada", choose("ship_it"))
	h.mustVote(id, "grace", choose("needs_revision"))
	st := h.mustVote(id, "linus", choose("abandon"))
	require.Equal(t, schema.Failed, st.Status)
	require.Equal(t, schema.NoQuorum, st.Outcome)
	require.Equal(t, schema.ByQuorum, st.Source)
	require.Nil(t, st.RespondedBy, "a poll without agreement has no responder")
	a := h.pullAnswer(id)
	require.Nil(t, a.Choice)
	require.Equal(t, schema.NoQuorum, a.Outcome)
	require.Contains(t, a.Guidance, "ended without agreement: no choice got the required 2 votes (ship_it 1, needs_revision 1, abandon 1)")
	require.Equal(t, "hub ended __no_quorum__", h.ledgerLines(id)[3])
	_, err := h.vote(id, "ada", choose("abandon"))
	require.ErrorIs(t, err, schema.ErrExpired, "too late to change it")

	permission, _ := h.ask(`{"question":"q","type":"permission","requiredApprovals":3}`)
	h.mustVote(permission, "ada", approval())
	h.mustVote(permission, "grace", approval())
	h.mustVote(permission, "linus", denial())
	require.False(t, *h.pullAnswer(permission).Permission, "clients without quorum support read a denial")
}

func TestVotes_CanChangeWhilePending(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace", "linus")
	id, _ := h.ask(twoOfThree)
	h.mustVote(id, "ada", approval())
	again := h.mustVote(id, "ada", approval())
	require.Equal(t, int64(2), again.Revision, "the same vote again changes nothing")
	st := h.mustVote(id, "ada", withComment(denial(), "I looked again."))
	require.Equal(t, []string{"ada deny"}, voteSummaries(st.Votes))
	h.mustVote(id, "grace", approval())
	st = h.mustVote(id, "ada", withComment(approval(), ""))
	require.Equal(t, schema.Approve, st.Outcome)
	require.Equal(t, []string{"grace approve", "ada approve"}, voteSummaries(st.Votes))
	require.Equal(t, []string{"linus"}, h.pullAnswer(id).Awaiting)
	require.Equal(t, []string{"ada voted approve", "ada voted deny", "grace voted approve", "ada voted approve", "ada ended approve"}, h.ledgerLines(id), "the ledger keeps every vote")

	st, err := h.vote(id, "grace", approval())
	require.NoError(t, err, "the same vote again")
	require.Equal(t, schema.Responded, st.Status)
	_, err = h.vote(id, "grace", denial())
	require.ErrorIs(t, err, schema.ErrDecided)
	_, err = h.vote(id, "linus", approval())
	require.ErrorIs(t, err, schema.ErrDecided)
}

func TestVotes_RequireRecipient(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace", "linus", "op-kay")
	id, _ := h.ask(`{"question":"q","type":"permission","requiredApprovals":2,"recipients":{"mode":"selected_members","members":["ada","grace"]}}`)
	_, err := h.Respond(t.Context(), id, approval(), Caller{})
	require.ErrorIs(t, err, schema.ErrSignIn, "an unauthenticated caller could vote twice")
	for _, name := range []string{"linus", "op-kay"} {
		_, err = h.vote(id, name, approval())
		require.ErrorIs(t, err, schema.ErrNotAllowed, name)
		require.Contains(t, schema.ProblemOf(err).Hint, "ada, grace")
	}
	_, err = h.Respond(t.Context(), id, approval(), Caller{Identity: auth.Identity{Name: "ada", Agent: true, Via: "token"}})
	require.ErrorIs(t, err, schema.ErrNotAllowed, "an agent's token never answers")
	require.Empty(t, h.status(id).Votes)

	// Without a quorum, one recipient is enough, and only a recipient can answer.
	first, _ := h.ask(`{"question":"q","type":"permission","recipients":{"mode":"owner"}}`)
	require.Equal(t, []string{"ada"}, h.status(first).Awaiting)
	_, err = h.vote(first, "grace", approval())
	require.ErrorIs(t, err, schema.ErrNotAllowed)
	_, err = h.Respond(t.Context(), first, approval(), Caller{})
	require.ErrorIs(t, err, schema.ErrSignIn)
	st := h.mustVote(first, "ada", denial())
	require.Equal(t, schema.Deny, st.Outcome)
	require.Equal(t, schema.ByHuman, st.Source)
	require.Equal(t, []string{"ada deny"}, voteSummaries(h.pullAnswer(first).Votes))
	text, _ := h.ask(`{"question":"q","type":"question","recipients":{"mode":"owner_admins"}}`)
	words := "Blue."
	h.mustVote(text, "linus", &schema.Response{Response: &words})
	require.Equal(t, words, *h.pullAnswer(text).Response)
	require.Equal(t, []string{"ada", "grace"}, h.pullAnswer(text).Awaiting)
}

// TestRecipients_DefaultByApprovals: a question that names no one is for everyone, unless several have to agree.
func TestRecipients_DefaultByApprovals(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace", "op-kay")
	for members, want := range map[string][]string{
		``:                                       nil,
		`,"requiredApprovals":1`:                 nil,
		`,"requiredApprovals":2`:                 {"ada", "grace"},
		`,"recipients":{"mode":"owner_admins"}`:  {"ada", "grace"},
		`,"recipients":{"mode":"owner"}`:         {"ada"},
		`,"recipients":{}`:                       nil,
		`,"recipients":{},"requiredApprovals":2`: {"ada", "grace"},
	} {
		id, _ := h.ask(`{"question":"q","type":"permission"` + members + `}`)
		require.Equal(t, want, h.status(id).Recipients, members)
		_, err := h.vote(id, "op-kay", approval())
		require.Equal(t, want == nil, err == nil, members)
	}
}

// TestVotes_AnyoneModeCountsDistinctPeople: without a list of recipients, a quorum counts
// distinct authenticated people and cannot end because everyone has voted.
func TestVotes_AnyoneModeCountsDistinctPeople(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace", "op-kay")
	id, _ := h.ask(`{"question":"q","type":"permission","requiredApprovals":2,"recipients":{"mode":"anyone"}}`)
	require.Nil(t, h.status(id).Recipients)
	_, err := h.Respond(t.Context(), id, approval(), Caller{})
	require.ErrorIs(t, err, schema.ErrSignIn)
	h.mustVote(id, "ada", approval())
	h.mustVote(id, "grace", denial())
	require.Equal(t, schema.Approve, h.mustVote(id, "op-kay", approval()).Outcome)
}

func TestIngest_RejectsUndecidableQuestions(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	refused := func(question, field, says string, by Caller) {
		t.Helper()
		_, err := h.Ingest(t.Context(), []byte(eventWith(`"humanInTheLoop":`+question)), by)
		require.ErrorIs(t, err, schema.ErrInvalid, question)
		require.Equal(t, "humanInTheLoop."+field, schema.ProblemOf(err).Field)
		require.Contains(t, err.Error(), says)
	}
	h.loadPeople()
	refused(`{"question":"q","type":"permission","requiredApprovals":2}`, "requiredApprovals", "has none yet", Caller{})
	refused(`{"question":"q","type":"permission","recipients":{"mode":"owner"}}`, "recipients.mode", "has none yet", Caller{})
	h.setPeople("ada", "grace", "op-kay")
	refused(`{"question":"q","type":"permission","requiredApprovals":3}`, "requiredApprovals", "only 2 people may vote", Caller{})
	refused(`{"question":"q","type":"permission","requiredApprovals":2,"recipients":{"mode":"owner"}}`, "requiredApprovals", "only 1 person may vote", Caller{})
	refused(`{"question":"q","type":"permission","requiredApprovals":4,"recipients":{"mode":"anyone"}}`, "requiredApprovals", "only 3 people may vote", Caller{})
	refused(`{"question":"q","type":"permission","requiredApprovals":2,"recipients":{"mode":"selected_members","members":["ada","ada"]}}`, "requiredApprovals", "only 1 person", Caller{})
	refused(`{"question":"q","type":"permission","recipients":{"mode":"selected_members","members":["ada","mallory"]}}`, "recipients.members", "mallory", Caller{})
	refused(`{"question":"q","type":"question","requiredApprovals":2}`, "requiredApprovals", "text", Caller{})
	refused(`{"question":"q","type":"choice","choices":["a","__no_quorum__"],"requiredApprovals":2}`, "choices", "reserved", Caller{})
	require.Zero(t, h.Store.Head(), "nothing is stored")
}

// TestRecipients_AreFrozen: people added later are not recipients of earlier questions.
func TestRecipients_AreFrozen(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace")
	id, _ := h.ask(`{"question":"q","type":"permission","requiredApprovals":2}`)
	h.setPeople("ada", "grace", "linus")
	_, err := h.vote(id, "linus", approval())
	require.ErrorIs(t, err, schema.ErrNotAllowed)
	require.Equal(t, []string{"ada", "grace"}, h.status(id).Recipients)
}

func TestVotes_ExcludeRequester(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace", "linus")
	token, ok := h.People.IdentityOf("ada", "token")
	require.True(t, ok)
	ask := func(question string) (StoredEvent, error) {
		return h.Ingest(t.Context(), []byte(eventWith(`"humanInTheLoop":`+question)), Caller{Identity: token})
	}
	saved, err := ask(twoOfThree)
	require.NoError(t, err)
	h.ResponseSent(saved.ID)
	require.Equal(t, []string{"grace", "linus"}, h.status(saved.ID).Recipients)
	for _, via := range []string{"session", "token", "link"} {
		who, _ := h.People.IdentityOf("ada", via)
		_, err = h.Respond(t.Context(), saved.ID, approval(), Caller{Identity: who})
		require.ErrorIs(t, err, schema.ErrSelfApproval, via)
	}
	_, err = ask(`{"question":"q","type":"permission","requiredApprovals":3}`)
	require.ErrorIs(t, err, schema.ErrInvalid, "only two people are left without the requester")
	_, err = ask(`{"question":"q","type":"permission","recipients":{"mode":"owner"}}`)
	require.ErrorIs(t, err, schema.ErrInvalid, "no one is left without the requester")

	plain, err := ask(pullQuestion)
	require.NoError(t, err)
	_, err = h.vote(plain.ID, "ada", approval())
	require.ErrorIs(t, err, schema.ErrSelfApproval, "the requester cannot answer a plain question either")
	own, err := ask(`{"question":"q","type":"permission","requiredApprovals":3,"excludeRequester":false}`)
	require.NoError(t, err)
	h.mustVote(own.ID, "ada", approval())
}

func TestVotes_EditClearsEarlierVotes(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace", "linus")
	id, _ := h.ask(editableQuestion)
	h.mustVote(id, "ada", withComment(approval(), "Fine."))
	st := h.mustVote(id, "grace", editedApproval(`{"command":"rm -rf build"}`, 2))
	require.Equal(t, schema.Pending, st.Status)
	require.Equal(t, []string{"grace approve"}, voteSummaries(st.Votes), "an edit is a vote for the edited call")
	require.Equal(t, []string{"ada", "linus"}, st.Awaiting)
	require.Equal(t, "grace", st.Edited.By)
	require.Equal(t, st.Revision, st.Edited.Revision)
	require.NotEmpty(t, st.Findings, "the edited call is assessed")

	for _, seen := range []int64{0, 1, st.Edited.Revision - 1} {
		r := approval()
		r.Revision = seen
		_, err := h.vote(id, "ada", r)
		require.ErrorIs(t, err, schema.ErrStale, "the voter saw other arguments")
		r.ModifiedArguments = json.RawMessage(`{"command":"ls -l"}`)
		_, err = h.vote(id, "ada", r)
		require.ErrorIs(t, err, schema.ErrStale)
	}
	r := approval()
	r.Revision = st.Edited.Revision
	st = h.mustVote(id, "linus", r)
	require.Equal(t, schema.Approve, st.Outcome)
	a := h.pullAnswer(id)
	require.JSONEq(t, `{"command":"rm -rf build"}`, string(a.ModifiedArguments))
	require.Contains(t, a.Guidance, "2 people approved this with changed arguments")
	require.Equal(t, []string{"ada voted approve", "grace edited", "grace voted approve", "linus voted approve", "linus ended approve"}, h.ledgerLines(id))

	h.mustVote(id, "linus", r)
	h.mustVote(id, "grace", editedApproval(`{"command":"rm -rf build"}`, 2))
	for _, seen := range []int64{0, 1, st.Edited.Revision - 1} {
		r.Revision = seen
		_, err := h.vote(id, "linus", r)
		require.ErrorIs(t, err, schema.ErrDecided, "no repeat: an approval of other arguments")
	}
}

func TestVotes_EachEditRestartsVoting(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace", "linus")
	id, _ := h.ask(editableQuestion)
	st := h.mustVote(id, "ada", editedApproval(`{"command": "ls"}`, 0))
	require.Nil(t, st.Edited, "equal arguments are not an edit")
	st = h.mustVote(id, "ada", editedApproval(`{"command":"ls -l"}`, st.Revision))
	st = h.mustVote(id, "grace", editedApproval(`{"command":"ls"}`, st.Revision))
	require.Equal(t, []string{"grace approve"}, voteSummaries(st.Votes))
	again := h.mustVote(id, "grace", editedApproval(`{"command":"ls"}`, st.Revision))
	require.Equal(t, st.Revision, again.Revision)
	deny := denial()
	deny.Revision = st.Revision
	h.mustVote(id, "ada", deny)
	st = h.mustVote(id, "linus", editedApproval(`{"command":"ls"}`, st.Revision))
	require.Equal(t, schema.Approve, st.Outcome)
	require.JSONEq(t, `{"command":"ls"}`, string(h.pullAnswer(id).ModifiedArguments))

	// A denial delivers no arguments.
	id, _ = h.ask(editableQuestion)
	st = h.mustVote(id, "ada", editedApproval(`{"command":"ls -l"}`, 0))
	deny.Revision = st.Revision
	h.mustVote(id, "grace", deny)
	h.mustVote(id, "linus", deny)
	require.Nil(t, h.pullAnswer(id).ModifiedArguments)
}

// An edit that ends the vote is recorded like any other, with the votes that it cleared.
func TestVotes_EditThatEndsTheVoteIsRecorded(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]time.Duration{"immediately": 0, "after an undo window": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newFakeClock()
			h := newTestHub(t, clock.configure)
			h.setPeople("ada", "grace", "linus")
			id, _ := h.ask(strings.Replace(editableQuestion, `"requiredApprovals"`, `"recipients":{"mode":"selected_members","members":["grace","linus"]},"requiredApprovals"`, 1))
			st := h.mustVote(id, "grace", approval())
			h.remove("linus") // so that the edit of the only voter left can't get two approvals
			st = h.mustVote(id, "grace", withHold(editedApproval(`{"command":"ls -l"}`, st.Revision), hold))
			lines := []string{"grace voted approve", "grace edited"}
			if hold > 0 {
				require.Equal(t, schema.NoQuorum, st.Held.Outcome)
				require.Equal(t, lines, h.ledgerLines(id))
				clock.advance(hold)
				h.runDue()
			}
			require.Equal(t, schema.NoQuorum, h.status(id).Outcome)
			require.Equal(t, append(lines, "grace voted approve", "hub ended __no_quorum__"), h.ledgerLines(id))

			entries, err := h.Store.Ledger(t.Context(), store.LedgerPage{Oldest: true, Limit: 1 << 20})
			require.NoError(t, err)
			var cleared []string
			for _, line := range entries {
				var e struct {
					Action string
					Data   struct{ Cleared []schema.Vote }
				}
				require.NoError(t, json.Unmarshal(line, &e))
				cleared = append(cleared, voteSummaries(e.Data.Cleared)...)
			}
			require.Equal(t, []string{"grace approve"}, cleared)
		})
	}
}

func TestVotes_RejectUnsupportedFields(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace", "linus")
	id, _ := h.ask(strings.Replace(editableQuestion, `"requiredApprovals"`, `"suggestions":[{"always":true}],"requiredApprovals"`, 1))
	remember := approval()
	remember.Remember = json.RawMessage(`{"always":true}`)
	for field, r := range map[string]*schema.Response{
		"remember":          remember,
		"comment":           withComment(approval(), strings.Repeat("\x01", schema.MaxReason)),
		"modifiedArguments": editedApproval(`{"command":"`+strings.Repeat("x", question.MaxAnswerBytes/4)+`"}`, 0),
	} {
		_, err := h.vote(id, "ada", r)
		require.ErrorIs(t, err, schema.ErrWrongAnswer, field)
		require.Equal(t, field, schema.ProblemOf(err).Field)
	}
	require.Empty(t, h.status(id).Votes)
}
