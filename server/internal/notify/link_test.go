package notify

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/hub"
)

var linkIn = regexp.MustCompile(`https://hub\.example\.com/hitl/\d+/vote#(\S+)`)

// tokenOf is the token in the mail to an address.
func tokenOf(t *testing.T, office *post, address string) string {
	found := linkIn.FindStringSubmatch(office.to(t, address).text)
	require.NotNil(t, found)
	return found[1]
}

func (r *rig) vote(id schema.EventID, token string) error {
	return r.Vote(r.t.Context(), id, token, func(o *OpenedLink) error {
		yes := true
		_, err := r.hub.Respond(r.t.Context(), id, &schema.Response{Permission: &yes, Revision: o.Revision}, hub.Caller{Who: o.Identity})
		return err
	})
}

func TestASignedLinkIsInMailToOnePersonAndNowhereElse(t *testing.T) {
	t.Parallel()
	office, far := postOffice(t), listen(t)
	r := setup(t, ada, grace)
	r.channel("smtp://" + office.addr + "/?from=hub@example.com")
	r.channel("smtp://" + office.addr + "/?from=hub@example.com&to=team@example.com")
	r.channel(far.URL)
	r.channelOf("ada", far.ntfy("ada"))
	id := r.ask("May I?")
	r.card(id, "asked ada sent", "asked grace sent", "asked  sent", "asked  sent", "asked ada sent")
	require.NotEqual(t, tokenOf(t, office, ada.Email), tokenOf(t, office, grace.Email))
	require.NotRegexp(t, linkIn, office.to(t, "team@example.com").text)
	for _, said := range far.got() {
		require.NotContains(t, said, "/vote#")
	}
	opened, err := r.Open(t.Context(), id, tokenOf(t, office, grace.Email))
	require.NoError(t, err)
	require.Equal(t, "grace", opened.Identity.Name)
	require.Equal(t, "link", opened.Identity.Via)
	require.Contains(t, string(opened.Event), "May I?")
	require.Equal(t, schema.Pending, r.status(id).Status, "looking decides nothing")
}

func TestASignedLinkWorksOnce(t *testing.T) {
	t.Parallel()
	office := postOffice(t)
	r := setup(t, ada)
	r.channel("smtp://" + office.addr + "/?from=hub@example.com")
	id := r.ask("May I?")
	r.card(id, "asked ada sent")
	token := tokenOf(t, office, ada.Email)
	failed := errors.New("the disk is full")
	require.ErrorIs(t, r.Vote(t.Context(), id, token, func(*OpenedLink) error { return failed }), failed)
	var won, refusals atomic.Int64
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			switch err := r.vote(id, token); {
			case err == nil:
				won.Add(1)
			case errors.Is(err, schema.ErrNotAllowed):
				refusals.Add(1)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 1, won.Load(), "a failure does not spend it, a success does")
	require.EqualValues(t, 19, refusals.Load())
	r.restart()
	require.ErrorContains(t, r.vote(id, token), "has been used")
}

func TestALinkThatDoesNotHoldSaysWhatToDo(t *testing.T) {
	t.Parallel()
	office := postOffice(t)
	r := setup(t, ada, grace)
	r.now.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMilli())
	r.channel("smtp://" + office.addr + "/?from=hub@example.com")
	id := r.ask("May I?", `"timeout":600`)
	r.card(id, "asked ada sent", "asked grace sent")
	token := tokenOf(t, office, ada.Email)
	payload, signature, _ := strings.Cut(token, ".")

	other := r.ask("Something else?")
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	require.NoError(t, err)
	var mine ticket
	require.NoError(t, json.Unmarshal(raw, &mine))
	forge := func(change func(*ticket)) string {
		forged := mine
		change(&forged)
		text, err := json.Marshal(forged)
		require.NoError(t, err)
		return base64.RawURLEncoding.EncodeToString(text) + "." + signature
	}
	for name, c := range map[string]struct {
		id    schema.EventID
		token string
	}{
		"of another question": {other, token},
		"nothing":             {id, ""},
		"nonsense":            {id, "a.b"},
		"cut off":             {id, token[:len(token)-1]},
		"somebody else's":     {id, forge(func(f *ticket) { f.Person = "grace" })},
		"longer":              {id, forge(func(f *ticket) { f.Expires += 3600 })},
		"of another hub":      {id, forge(func(f *ticket) { f.Key = "00000000" })},
		"without signature":   {id, payload + "."},
	} {
		_, err := r.Open(t.Context(), c.id, c.token)
		require.ErrorIs(t, err, schema.ErrNotAllowed, name)
		var hint *schema.HintError
		require.ErrorAs(t, err, &hint, name)
		require.Contains(t, hint.Hint, "sign in", name)
		require.ErrorIs(t, r.vote(c.id, c.token), schema.ErrNotAllowed, name)
	}

	r.setAccounts(grace)
	require.ErrorContains(t, r.vote(id, token), "may not answer any more")
	r.setAccounts(ada, grace)
	r.now.Add((600 * time.Second).Milliseconds())
	require.ErrorContains(t, r.vote(id, token), "has expired", "though nothing has ended the question yet")
	require.Equal(t, schema.Pending, r.status(id).Status)
	_, err = r.Open(t.Context(), 99, token)
	require.ErrorIs(t, err, schema.ErrNotFound)
}

func TestAnEditAndTheEndOfTheRequestKillItsLinks(t *testing.T) {
	t.Parallel()
	office := postOffice(t)
	r := setup(t, ada, grace)
	r.channel("smtp://" + office.addr + "/?from=hub@example.com")
	id := r.ask("May I?")
	r.card(id, "asked ada sent", "asked grace sent")
	r.change(id, func(st *schema.Status) { st.Waiter = schema.Lost })
	_, err := r.Open(t.Context(), id, tokenOf(t, office, ada.Email))
	require.NoError(t, err, "what does not change the question does not matter")
	r.change(id, func(st *schema.Status) {
		st.Edited = &schema.EditedCall{Arguments: json.RawMessage(`{}`), By: "grace", Revision: st.Revision + 1}
	})
	err = r.vote(id, tokenOf(t, office, ada.Email))
	require.ErrorIs(t, err, schema.ErrStale)
	var hint *schema.HintError
	require.ErrorAs(t, err, &hint)
	require.Contains(t, hint.Hint, "changed after this link was sent")

	second := r.ask("And this?")
	r.card(second, "asked ada sent", "asked grace sent")
	r.answer(second)
	for _, l := range office.all() {
		if found := linkIn.FindStringSubmatch(l.text); strings.Contains(l.text, "And this?") {
			err := r.vote(second, found[1])
			require.ErrorIs(t, err, schema.ErrDecided)
			var status *schema.StatusError
			require.ErrorAs(t, err, &status)
			require.Equal(t, schema.Approve, status.Status.Outcome)
		}
	}
}

func TestALinkIsOnlyMadeForWhoMayAnswer(t *testing.T) {
	t.Parallel()
	r := setup(t, ada, eve)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r.now.Store(now.UnixMilli())
	q, err := r.read(t.Context(), r.ask("May I?", `"timeout":0`))
	require.NoError(t, err)
	for person, want := range map[string]bool{"ada": true, "eve": false, "nobody": false, "": false} {
		link, ends, err := r.link(q, person)
		require.NoError(t, err)
		require.Equal(t, want, link != "", person)
		if want {
			require.True(t, ends.Equal(now.Add(maxLink)), ends)
		}
	}
}

// TestALinkIsForWhomItsPersonSaw: who asks the same after somebody looked is not answered
// with the others, nor is it forgotten: they are told of it.
func TestALinkIsForWhomItsPersonSaw(t *testing.T) {
	t.Parallel()
	office := postOffice(t)
	r := setup(t, ada)
	r.channel("smtp://" + office.addr + "/?from=hub@example.com")
	const call = `"toolCall":{"name":"Bash","arguments":{"command":"npm test"}}`
	first := r.ask("May I?", call)
	r.card(first, "asked ada sent")
	token := tokenOf(t, office, ada.Email)
	second := r.ask("May I?", call)
	require.Equal(t, first, r.status(second).SameAs)
	require.NoError(t, r.vote(first, token))
	require.Equal(t, schema.Approve, r.status(first).Outcome)
	require.Equal(t, schema.Pending, r.status(second).Status)
	r.card(second, "asked ada sent")
}

// TestAnotherOfTheSameNameIsSomebodyElse: neither the links nor the messages of who is
// gone are theirs.
func TestAnotherOfTheSameNameIsSomebodyElse(t *testing.T) {
	t.Parallel()
	office, far := postOffice(t), listen(t)
	r := setup(t, ada, grace)
	r.channel("smtp://" + office.addr + "/?from=hub@example.com")
	r.channelOf("grace", far.ntfy("grace"))
	r.owner("ada")
	admin, _ := r.known.IdentityOf("ada", "session")
	made := func() {
		_, _, err := r.known.AddPerson(t.Context(), schema.PersonDraft{Name: "grace"}, admin)
		require.NoError(t, err)
	}
	made()
	const both = `"recipients":{"mode":"selected_members","members":["ada","grace"]},"reminderIntervalSeconds":30,"reminderMaxCount":3`
	id := r.ask("May I?", both)
	r.card(id, "asked ada sent", "asked grace sent", "asked grace sent")
	token := tokenOf(t, office, grace.Email)
	require.NoError(t, r.known.RemovePerson(t.Context(), "grace", admin))
	r.since.Store("grace", time.Now().Add(time.Second))
	made()
	_, err := r.Open(t.Context(), id, token)
	require.ErrorContains(t, err, "may not answer any more")
	require.ErrorIs(t, r.vote(id, token), schema.ErrNotAllowed)
	r.change(id, func(st *schema.Status) { st.Reminders = 1 })
	r.card(id, "asked ada sent", "asked grace sent", "asked grace sent", "reminder ada sent", "reminder grace suppressed gone", "reminder grace suppressed gone")
}

// TestWhoIsRemovedIsToldNoMore: the browsers and the settings of who is gone are nobody
// else's of their name.
func TestWhoIsRemovedIsToldNoMore(t *testing.T) {
	t.Parallel()
	r := setup(t, grace)
	r.owner("ada")
	admin, _ := r.known.IdentityOf("ada", "session")
	_, _, err := r.known.AddPerson(t.Context(), schema.PersonDraft{Name: "grace"}, admin)
	require.NoError(t, err)
	require.NoError(t, r.Store.AddPushSubscription(t.Context(), "grace", schema.PushSubscription{Endpoint: "https://push.example.com/1"}, 1))
	r.settings("grace", schema.NotificationSettings{CooldownMinutes: 10080})
	require.NoError(t, r.known.RemovePerson(t.Context(), "grace", admin))
	browsers, err := r.Store.PushSubscriptions(t.Context(), "grace")
	require.NoError(t, err)
	require.Empty(t, browsers)
	settings, err := r.Store.NotificationSettings(t.Context(), "grace")
	require.NoError(t, err)
	require.Zero(t, settings.CooldownMinutes, "with which they would miss what they are asked")
}
