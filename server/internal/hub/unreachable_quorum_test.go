package hub

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/store"
)

// askPeople asks for the given number of approvals by the named people.
func (h *testHub) askPeople(need int, members string, more ...string) schema.EventID {
	h.t.Helper()
	question := fmt.Sprintf(`{"question":"Deploy?","type":"permission","timeout":0,"requiredApprovals":%d,"recipients":{"mode":"selected_members","members":[%s]}`, need, members)
	for _, m := range more {
		question += "," + m
	}
	id, _ := h.ask(question + "}")
	return id
}

func (h *testHub) asOwner() auth.Identity { return h.as("ada").Identity }

func (h *testHub) remove(name string) {
	h.t.Helper()
	require.NoError(h.t, h.People.RemovePerson(h.t.Context(), name, h.asOwner()))
}

func (h *testHub) requireNoQuorum(id schema.EventID, reason string) {
	h.t.Helper()
	st := h.awaitSettled(id)
	require.Equal(h.t, schema.Failed, st.Status)
	require.Equal(h.t, schema.NoQuorum, st.Outcome)
	require.Equal(h.t, schema.ByQuorum, st.Source)
	require.Equal(h.t, reason, st.Reason)
	require.Nil(h.t, st.RespondedBy)
	a := h.pullAnswer(id)
	require.False(h.t, *a.Permission)
	require.Contains(h.t, a.Guidance, "Nothing was approved")
}

func TestQuorum_EndsWhenRecipientsAreRemoved(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace", "linus", "op-kay")
	h.startDeadlines()
	two, three, single := h.askPeople(2, `"ada","grace"`), h.askPeople(2, `"ada","grace","linus"`), h.askPeople(1, `"grace"`)
	anyone, _ := h.ask(`{"question":"Deploy?","type":"permission","requiredApprovals":4,"recipients":{"mode":"anyone"}}`)
	h.mustVote(three, "ada", approval())
	h.remove("grace")
	h.requireNoQuorum(two, "2 people had to agree and only 1 recipient is left.")
	h.requireNoQuorum(single, "1 person had to agree and no recipient is left.")
	require.Equal(t, schema.Pending, h.status(three).Status, "linus can still agree with ada")
	require.Equal(t, []string{"hub ended __no_quorum__"}, h.ledgerLines(two))
	h.remove("linus")
	h.requireNoQuorum(three, "2 people had to agree and only 1 recipient is left.")
	require.Equal(t, []string{"ada approve"}, voteSummaries(h.status(three).Votes))
	require.Equal(t, []string{"ada voted approve", "hub ended __no_quorum__"}, h.ledgerLines(three), "no vote is recorded twice")
	require.Equal(t, schema.Pending, h.status(anyone).Status, "later accounts may vote")
}

func TestQuorum_EndsWhenRecipientIsDemoted(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace", "linus")
	h.startDeadlines()
	id := h.askPeople(3, `"ada","grace","linus"`)
	h.mustVote(id, "grace", approval())
	_, err := h.People.ChangePerson(t.Context(), "grace", schema.PersonDraft{Role: schema.Viewer}, h.asOwner())
	require.NoError(t, err)
	h.requireNoQuorum(id, "3 people had to agree and only 2 recipients are left.")
	require.Empty(t, h.status(id).Votes, "the vote of a viewer does not count")
}

// TestQuorum_EndsAfterRestart: an account may be removed while the hub is down, or just before it
// stops.
func TestQuorum_EndsAfterRestart(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace")
	id := h.askPeople(2, `"ada","grace"`)
	h.remove("grace")
	require.NoError(t, h.Store.(store.Store).Close())
	h = openTestHub(t, h.path)
	h.loadPeople()
	require.Equal(t, schema.Pending, h.status(id).Status)
	h.startDeadlines()
	h.requireNoQuorum(id, "2 people had to agree and only 1 recipient is left.")
}

// failingPending fails the first reads of the pending questions.
type failingPending struct {
	store.Store
	failures atomic.Int32
}

func (s *failingPending) Pending(ctx context.Context) ([]*store.Event, error) {
	if s.failures.Add(-1) >= 0 {
		return nil, errors.New("disk failure")
	}
	return s.Store.Pending(ctx)
}

func TestQuorum_RetriesAfterStoreError(t *testing.T) {
	t.Parallel()
	failing := &failingPending{}
	h := newTestHub(t, func(cfg *Config) {
		failing.Store = cfg.Store.(store.Store)
		cfg.Store = failing
	})
	h.setPeople("ada", "grace")
	id := h.askPeople(2, `"ada","grace"`)
	h.remove("grace")
	failing.failures.Store(2)
	h.startDeadlines()
	h.requireNoQuorum(id, "2 people had to agree and only 1 recipient is left.")
}

func TestQuorum_VotesCanMakeItUnreachable(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	h.setPeople("ada", "grace", "linus")
	id := h.askPeople(3, `"ada","grace","linus"`)
	h.mustVote(id, "ada", approval())
	st := h.mustVote(id, "grace", withHold(denial(), 10*time.Second))
	require.Equal(t, schema.NoQuorum, st.Held.Outcome, "the dissenting vote can be undone")
	_, err := h.Undo(t.Context(), id, h.as("grace"))
	require.NoError(t, err)
	require.Equal(t, schema.Pending, h.mustVote(id, "grace", approval()).Status)
	st = h.mustVote(id, "linus", withHold(denial(), 10*time.Second))
	require.Equal(t, "linus", st.Held.By.Name)
	clock.advance(10 * time.Second)
	h.runDue()
	h.requireNoQuorum(id, "")

	id = h.askPeople(3, `"ada","grace","linus"`)
	h.mustVote(id, "ada", approval())
	h.mustVote(id, "grace", denial())
	h.requireNoQuorum(id, "3 people had to agree and at most 2 still can.")
	require.Equal(t, []string{"ada voted approve", "grace voted deny", "hub ended __no_quorum__"}, h.ledgerLines(id))
}

// TestQuorum_WaitsForUndoWindow: the voter whose deciding vote is held may be the one who is
// removed.
func TestQuorum_WaitsForUndoWindow(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	h.setPeople("ada", "grace")
	id := h.askPeople(2, `"ada","grace"`)
	h.mustVote(id, "ada", approval())
	h.mustVote(id, "grace", withHold(approval(), 10*time.Second))
	h.remove("grace")
	require.NoError(t, h.endUnreachableQuorums(t.Context()))
	require.Equal(t, schema.Pending, h.status(id).Status)
	clock.advance(10 * time.Second)
	h.runDue()
	h.requireNoQuorum(id, "2 people had to agree and only 1 recipient is left.")
}

func TestQuorum_WaitsForEscalation(t *testing.T) {
	t.Parallel()
	h := newClockedHub(t)
	h.setPeople("ada", "grace", "linus")
	helped := h.askPeople(2, `"ada","grace"`, `"escalateAfterSeconds":60,"escalateTo":{"mode":"selected_members","members":["linus"]}`)
	alone := h.askPeople(2, `"ada","grace"`, `"escalateAfterSeconds":60,"escalateTo":{"mode":"selected_members","members":["ada"]}`)
	h.remove("grace")
	require.NoError(t, h.endUnreachableQuorums(t.Context()))
	require.Equal(t, schema.Pending, h.status(alone).Status, "the escalation may add recipients")
	h.advance(time.Minute)
	h.requireNoQuorum(alone, "2 people had to agree and only 1 recipient is left.")
	require.Equal(t, schema.Pending, h.status(helped).Status)
	require.Equal(t, []string{"ada", "grace", "linus"}, h.status(helped).Recipients)
	h.mustVote(helped, "ada", approval())
	require.Equal(t, schema.Approve, h.mustVote(helped, "linus", approval()).Outcome)
}
