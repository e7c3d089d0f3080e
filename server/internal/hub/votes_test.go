package hub

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/store"
)

// team makes the hub these people's: the first owns it, all are admins but those whose
// name begins with "op-", who are operators.
func (b *bench) team(names ...string) {
	b.t.Helper()
	var c store.PeopleChange
	for i, name := range names {
		role := schema.Admin
		if strings.HasPrefix(name, "op-") {
			role = schema.Operator
		}
		c.Persons = append(c.Persons, store.Person{Name: name, Role: role, Owner: i == 0, CreatedAt: time.UnixMilli(1)})
	}
	require.NoError(b.t, b.Store.ChangePeople(b.t.Context(), &c))
	b.knows()
}

// knows reads who the hub's people are.
func (b *bench) knows() {
	b.t.Helper()
	p, err := auth.Open(b.t.Context(), auth.Config{Store: b.Store, Clock: b.Clock})
	require.NoError(b.t, err)
	b.People = p
}

// as is somebody who has signed in.
func (b *bench) as(name string) Caller {
	who, ok := b.People.IdentityOf(name, "session")
	require.True(b.t, ok, name)
	return Caller{Who: who}
}

// votes as name; the status then, or the error.
func (b *bench) votes(id schema.EventID, name string, r *schema.Response) (schema.Status, error) {
	b.t.Helper()
	raw, err := b.Respond(b.t.Context(), id, r, b.as(name))
	if err != nil {
		return b.status(id), err
	}
	return *decode(b.t, raw).HumanInTheLoopStatus, nil
}

func (b *bench) mustVote(id schema.EventID, name string, r *schema.Response) schema.Status {
	b.t.Helper()
	st, err := b.votes(id, name, r)
	require.NoError(b.t, err, name)
	return st
}

// answer is what the agent gets.
func (b *bench) answer(id schema.EventID) (a schema.Answer) {
	b.t.Helper()
	raw, err := b.Pull(b.t.Context(), id, Pull{Secret: b.requestSecret(b.uid(id))})
	require.NoError(b.t, err)
	require.NotNil(b.t, raw)
	require.NoError(b.t, json.Unmarshal(raw, &a))
	return a
}

func (b *bench) uid(id schema.EventID) string {
	raw, err := b.Event(b.t.Context(), id)
	require.NoError(b.t, err)
	return decode(b.t, raw).UID
}

// acts are what the ledger has of a question, each as who did what; the ledger must be
// one chain.
func (b *bench) acts(id schema.EventID) (acts []string) {
	b.t.Helper()
	entries, err := b.Store.Ledger(b.t.Context(), store.LedgerPage{Oldest: true, Limit: 1 << 20})
	require.NoError(b.t, err)
	var check schema.LedgerCheck
	for _, line := range entries {
		require.NoError(b.t, check.Next(line))
		var e schema.LedgerEntry
		require.NoError(b.t, json.Unmarshal(line, &e))
		var data struct {
			Choice  string
			Outcome schema.Outcome
		}
		require.NoError(b.t, json.Unmarshal(e.Data, &data))
		if e.QuestionID == id {
			acts = append(acts, strings.TrimSpace(e.Actor+" "+strings.TrimPrefix(e.Action, "question.")+" "+data.Choice+string(data.Outcome)))
		}
	}
	return acts
}

const (
	ofThree  = `{"question":"Deploy?","type":"permission","requiredApprovals":2,"recipients":{"mode":"selected_members","members":["ada","grace","linus"]}}`
	editable = `{"question":"Remove it?","type":"permission","requiredApprovals":2,"toolCall":{"name":"Bash","arguments":{"command":"ls"},"editable":true}}`
	release  = `{"question":"Which?","type":"choice","choices":["ship_it","needs_revision","abandon"],"requiredApprovals":2}`
)

func said(r *schema.Response, comment string) *schema.Response {
	c := *r
	c.Comment = comment
	return &c
}

func choose(label string) *schema.Response { return &schema.Response{Choice: &label} }

func edited(arguments string, revision int64) *schema.Response {
	r := yes()
	r.ModifiedArguments, r.Revision = json.RawMessage(arguments), revision
	return r
}

func names(votes []schema.Vote) (all []string) {
	for _, v := range votes {
		all = append(all, v.User+" "+v.Choice)
	}
	return all
}

func TestTheFirstChoiceWithEnoughVotesWins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("ada", "grace", "linus")
	id, _ := b.ask(ofThree)
	st := b.status(id)
	require.Equal(t, []string{"ada", "grace", "linus"}, st.Recipients)
	require.Equal(t, st.Recipients, st.Awaiting)

	st = b.mustVote(id, "ada", said(yes(), "Only the old ones."))
	require.Equal(t, schema.Pending, st.Status)
	require.Equal(t, []string{"grace", "linus"}, st.Awaiting)
	require.Empty(t, b.dispatched)
	st = b.mustVote(id, "grace", no())
	require.Equal(t, []string{"linus"}, st.Awaiting)
	st = b.mustVote(id, "linus", said(yes(), "Go."))

	require.Equal(t, schema.Responded, st.Status)
	require.Equal(t, schema.Approve, st.Outcome)
	require.Equal(t, schema.ByQuorum, st.Source)
	require.Equal(t, "linus", st.RespondedBy.Name)
	require.True(t, st.RespondedBy.Verified)
	require.Equal(t, []string{"ada approve", "grace deny", "linus approve"}, names(st.Votes))
	require.Nil(t, st.Response.Votes, "they stand beside it")

	a := b.answer(id)
	require.True(t, *a.Permission)
	require.Equal(t, names(st.Votes), names(a.Votes))
	require.Equal(t, "Only the old ones.", a.Votes[0].Comment)
	require.Equal(t, 2, a.RequiredApprovals)
	require.Empty(t, a.Awaiting)
	require.Equal(t, "2 people approved exactly this. What they said: ada: Only the old ones.; linus: Go.", a.Guidance)
	require.Equal(t, []string{"ada voted approve", "grace voted deny", "linus voted approve", "linus ended approve"}, b.acts(id))
}

func TestCustomChoicesNeedTheirVotesToo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("ada", "grace", "linus", "op-kay")
	id, _ := b.ask(release)
	require.Equal(t, []string{"ada", "grace", "linus"}, b.status(id).Recipients, "owner and admins, unless told")
	b.mustVote(id, "ada", choose("ship_it"))
	b.mustVote(id, "grace", choose("abandon"))
	st := b.mustVote(id, "linus", choose("abandon"))
	require.Equal(t, schema.Outcome("abandon"), st.Outcome)
	require.Equal(t, "abandon", *b.answer(id).Choice)
}

func TestAllVotedAndNobodyAgreed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("ada", "grace", "linus")
	id, _ := b.ask(release)
	b.mustVote(id, "ada", choose("ship_it"))
	b.mustVote(id, "grace", choose("needs_revision"))
	st := b.mustVote(id, "linus", choose("abandon"))
	require.Equal(t, schema.Failed, st.Status)
	require.Equal(t, schema.NoQuorum, st.Outcome)
	require.Equal(t, schema.ByQuorum, st.Source)
	require.Nil(t, st.RespondedBy, "nobody's answer, whoever voted last")
	a := b.answer(id)
	require.Nil(t, a.Choice)
	require.Equal(t, schema.NoQuorum, a.Outcome)
	require.Contains(t, a.Guidance, "did not agree: no choice got the 2 votes it needed (ship_it 1, needs_revision 1, abandon 1)")
	require.Equal(t, "hub ended __no_quorum__", b.acts(id)[3])
	_, err := b.votes(id, "ada", choose("abandon"))
	require.ErrorIs(t, err, schema.ErrExpired, "too late to change it")

	permission, _ := b.ask(`{"question":"q","type":"permission","requiredApprovals":3}`)
	b.mustVote(permission, "ada", yes())
	b.mustVote(permission, "grace", yes())
	b.mustVote(permission, "linus", no())
	require.False(t, *b.answer(permission).Permission, "a program that knows no quorum reads a no")
}

func TestAVoteCanBeChangedWhileItIsPending(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("ada", "grace", "linus")
	id, _ := b.ask(ofThree)
	b.mustVote(id, "ada", yes())
	again := b.mustVote(id, "ada", yes())
	require.Equal(t, int64(2), again.Revision, "the same again changes nothing")
	st := b.mustVote(id, "ada", said(no(), "I looked again."))
	require.Equal(t, []string{"ada deny"}, names(st.Votes))
	b.mustVote(id, "grace", yes())
	st = b.mustVote(id, "ada", said(yes(), ""))
	require.Equal(t, schema.Approve, st.Outcome)
	require.Equal(t, []string{"grace approve", "ada approve"}, names(st.Votes))
	require.Equal(t, []string{"linus"}, b.answer(id).Awaiting)
	require.Equal(t, []string{"ada voted approve", "ada voted deny", "grace voted approve", "ada voted approve", "ada ended approve"}, b.acts(id), "the ledger keeps every one")

	st, err := b.votes(id, "grace", yes())
	require.NoError(t, err, "said again")
	require.Equal(t, schema.Responded, st.Status)
	_, err = b.votes(id, "grace", no())
	require.ErrorIs(t, err, schema.ErrDecided)
	_, err = b.votes(id, "linus", yes())
	require.ErrorIs(t, err, schema.ErrDecided)
}

func TestWhoMayVote(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("ada", "grace", "linus", "op-kay")
	id, _ := b.ask(`{"question":"q","type":"permission","requiredApprovals":2,"recipients":{"mode":"selected_members","members":["ada","grace"]}}`)
	_, err := b.Respond(t.Context(), id, yes(), Caller{})
	require.ErrorIs(t, err, schema.ErrSignIn, "anyone could vote twice")
	for _, name := range []string{"linus", "op-kay"} {
		_, err = b.votes(id, name, yes())
		require.ErrorIs(t, err, schema.ErrNotAllowed, name)
		require.Contains(t, schema.ProblemOf(err).Hint, "ada, grace")
	}
	_, err = b.Respond(t.Context(), id, yes(), Caller{Who: auth.Identity{Name: "ada", Agent: true, Via: "token"}})
	require.ErrorIs(t, err, schema.ErrNotAllowed, "an agent's token never answers")
	require.Empty(t, b.status(id).Votes)

	// One of them is enough where one is asked for, and it has to be one of them.
	first, _ := b.ask(`{"question":"q","type":"permission","recipients":{"mode":"owner"}}`)
	require.Equal(t, []string{"ada"}, b.status(first).Awaiting)
	_, err = b.votes(first, "grace", yes())
	require.ErrorIs(t, err, schema.ErrNotAllowed)
	_, err = b.Respond(t.Context(), first, yes(), Caller{})
	require.ErrorIs(t, err, schema.ErrSignIn)
	st := b.mustVote(first, "ada", no())
	require.Equal(t, schema.Deny, st.Outcome)
	require.Equal(t, schema.ByHuman, st.Source)
	require.Equal(t, []string{"ada deny"}, names(b.answer(first).Votes))
	text, _ := b.ask(`{"question":"q","type":"question","recipients":{"mode":"owner_admins"}}`)
	words := "Blue."
	b.mustVote(text, "linus", &schema.Response{Response: &words})
	require.Equal(t, words, *b.answer(text).Response)
	require.Equal(t, []string{"ada", "grace"}, b.answer(text).Awaiting)
}

// A quorum of anybody counts distinct people who are known; it can't tell that all
// have voted.
func TestAQuorumOfAnyone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("ada", "grace", "op-kay")
	id, _ := b.ask(`{"question":"q","type":"permission","requiredApprovals":2,"recipients":{"mode":"anyone"}}`)
	require.Nil(t, b.status(id).Recipients)
	_, err := b.Respond(t.Context(), id, yes(), Caller{})
	require.ErrorIs(t, err, schema.ErrSignIn)
	b.mustVote(id, "ada", yes())
	b.mustVote(id, "grace", no())
	require.Equal(t, schema.Approve, b.mustVote(id, "op-kay", yes()).Outcome)
}

func TestWhatCantBeDecidedIsRefusedWhenItIsAsked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	refused := func(question, field, says string, by Caller) {
		t.Helper()
		_, err := b.Ingest(t.Context(), []byte(with(`"humanInTheLoop":`+question)), by)
		require.ErrorIs(t, err, schema.ErrInvalid, question)
		require.Equal(t, "humanInTheLoop."+field, schema.ProblemOf(err).Field)
		require.Contains(t, err.Error(), says)
	}
	b.knows()
	refused(`{"question":"q","type":"permission","requiredApprovals":2}`, "requiredApprovals", "knows nobody yet", Caller{})
	refused(`{"question":"q","type":"permission","recipients":{"mode":"owner"}}`, "recipients.mode", "knows nobody yet", Caller{})
	b.team("ada", "grace", "op-kay")
	refused(`{"question":"q","type":"permission","requiredApprovals":3}`, "requiredApprovals", "only 2 people may vote", Caller{})
	refused(`{"question":"q","type":"permission","requiredApprovals":2,"recipients":{"mode":"owner"}}`, "requiredApprovals", "only 1 person may vote", Caller{})
	refused(`{"question":"q","type":"permission","requiredApprovals":4,"recipients":{"mode":"anyone"}}`, "requiredApprovals", "only 3 people may vote", Caller{})
	refused(`{"question":"q","type":"permission","requiredApprovals":2,"recipients":{"mode":"selected_members","members":["ada","ada"]}}`, "requiredApprovals", "only 1 person", Caller{})
	refused(`{"question":"q","type":"permission","recipients":{"mode":"selected_members","members":["ada","mallory"]}}`, "recipients.members", "mallory", Caller{})
	refused(`{"question":"q","type":"question","requiredApprovals":2}`, "requiredApprovals", "text", Caller{})
	refused(`{"question":"q","type":"choice","choices":["a","__no_quorum__"],"requiredApprovals":2}`, "choices", "reserved", Caller{})
	require.Zero(t, b.Store.Head(), "nothing of it was stored")
}

// The list is the one of the moment it was asked.
func TestRecipientsAreFrozen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("ada", "grace")
	id, _ := b.ask(`{"question":"q","type":"permission","requiredApprovals":2}`)
	b.team("ada", "grace", "linus")
	_, err := b.votes(id, "linus", yes())
	require.ErrorIs(t, err, schema.ErrNotAllowed)
	require.Equal(t, []string{"ada", "grace"}, b.status(id).Recipients)
}

func TestWhoAskedHasNoVote(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("ada", "grace", "linus")
	token, ok := b.People.IdentityOf("ada", "token")
	require.True(t, ok)
	ask := func(question string) (StoredEvent, error) {
		return b.Ingest(t.Context(), []byte(with(`"humanInTheLoop":`+question)), Caller{Who: token})
	}
	saved, err := ask(ofThree)
	require.NoError(t, err)
	b.ResponseSent(saved.ID)
	require.Equal(t, []string{"grace", "linus"}, b.status(saved.ID).Recipients)
	for _, via := range []string{"session", "token", "link"} {
		who, _ := b.People.IdentityOf("ada", via)
		_, err = b.Respond(t.Context(), saved.ID, yes(), Caller{Who: who})
		require.ErrorIs(t, err, schema.ErrSelfApproval, via)
	}
	_, err = ask(`{"question":"q","type":"permission","requiredApprovals":3}`)
	require.ErrorIs(t, err, schema.ErrInvalid, "of three only two are left")
	_, err = ask(`{"question":"q","type":"permission","recipients":{"mode":"owner"}}`)
	require.ErrorIs(t, err, schema.ErrInvalid, "nobody is left")

	plain, err := ask(pullOne)
	require.NoError(t, err)
	_, err = b.votes(plain.ID, "ada", yes())
	require.ErrorIs(t, err, schema.ErrSelfApproval, "nor the answer to a plain question")
	own, err := ask(`{"question":"q","type":"permission","requiredApprovals":3,"excludeRequester":false}`)
	require.NoError(t, err)
	b.mustVote(own.ID, "ada", yes())
}

func TestAnEditClearsTheVotes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("ada", "grace", "linus")
	id, _ := b.ask(editable)
	b.mustVote(id, "ada", said(yes(), "Fine."))
	st := b.mustVote(id, "grace", edited(`{"command":"rm -rf build"}`, 2))
	require.Equal(t, schema.Pending, st.Status)
	require.Equal(t, []string{"grace approve"}, names(st.Votes), "who changes it has voted for it")
	require.Equal(t, []string{"ada", "linus"}, st.Awaiting)
	require.Equal(t, "grace", st.Edited.By)
	require.Equal(t, st.Revision, st.Edited.Revision)
	require.NotEmpty(t, st.Findings, "what is voted on is what is judged")

	for _, seen := range []int64{0, 1, st.Edited.Revision - 1} {
		r := yes()
		r.Revision = seen
		_, err := b.votes(id, "ada", r)
		require.ErrorIs(t, err, schema.ErrStale, "who saw something else can't vote on this")
		r.ModifiedArguments = json.RawMessage(`{"command":"ls -l"}`)
		_, err = b.votes(id, "ada", r)
		require.ErrorIs(t, err, schema.ErrStale)
	}
	r := yes()
	r.Revision = st.Edited.Revision
	st = b.mustVote(id, "linus", r)
	require.Equal(t, schema.Approve, st.Outcome)
	a := b.answer(id)
	require.JSONEq(t, `{"command":"rm -rf build"}`, string(a.ModifiedArguments))
	require.Contains(t, a.Guidance, "2 people approved this with changed arguments")
	require.Equal(t, []string{"ada voted approve", "grace edited", "grace voted approve", "linus voted approve", "linus ended approve"}, b.acts(id))
}

func TestEditsOfEdits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("ada", "grace", "linus")
	id, _ := b.ask(editable)
	st := b.mustVote(id, "ada", edited(`{"command": "ls"}`, 0))
	require.Nil(t, st.Edited, "the arguments as they are change nothing")
	st = b.mustVote(id, "ada", edited(`{"command":"ls -l"}`, st.Revision))
	st = b.mustVote(id, "grace", edited(`{"command":"ls"}`, st.Revision))
	require.Equal(t, []string{"grace approve"}, names(st.Votes))
	again := b.mustVote(id, "grace", edited(`{"command":"ls"}`, st.Revision))
	require.Equal(t, st.Revision, again.Revision)
	deny := no()
	deny.Revision = st.Revision
	b.mustVote(id, "ada", deny)
	st = b.mustVote(id, "linus", edited(`{"command":"ls"}`, st.Revision))
	require.Equal(t, schema.Approve, st.Outcome)
	require.JSONEq(t, `{"command":"ls"}`, string(b.answer(id).ModifiedArguments))

	// A no carries nobody's arguments.
	id, _ = b.ask(editable)
	st = b.mustVote(id, "ada", edited(`{"command":"ls -l"}`, 0))
	deny.Revision = st.Revision
	b.mustVote(id, "grace", deny)
	b.mustVote(id, "linus", deny)
	require.Nil(t, b.answer(id).ModifiedArguments)
}

func TestWhatAVoteCantCarry(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("ada", "grace", "linus")
	id, _ := b.ask(strings.Replace(editable, `"requiredApprovals"`, `"suggestions":[{"always":true}],"requiredApprovals"`, 1))
	remember := yes()
	remember.Remember = json.RawMessage(`{"always":true}`)
	for field, r := range map[string]*schema.Response{
		"remember":          remember,
		"comment":           said(yes(), strings.Repeat("\x01", schema.MaxReason)),
		"modifiedArguments": edited(`{"command":"`+strings.Repeat("x", maxAnswerBytes/4)+`"}`, 0),
	} {
		_, err := b.votes(id, "ada", r)
		require.ErrorIs(t, err, schema.ErrWrongAnswer, field)
		require.Equal(t, field, schema.ProblemOf(err).Field)
	}
	require.Empty(t, b.status(id).Votes)
}
