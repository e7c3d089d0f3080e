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

var linkPattern = regexp.MustCompile(`https://hub\.example\.com/hitl/\d+/vote#(\S+)`)

// linkToken returns the token in the mail to an address.
func linkToken(t *testing.T, mailServer *testMailServer, address string) string {
	found := linkPattern.FindStringSubmatch(mailServer.messageTo(t, address).text)
	require.NotNil(t, found)
	return found[1]
}

func (h *harness) vote(id schema.EventID, token string) error {
	return h.VoteByLink(h.t.Context(), id, token, "", func(o *OpenedLink) error {
		yes := true
		_, err := h.hub.Respond(h.t.Context(), id, &schema.Response{Permission: &yes, Revision: o.Revision}, hub.Caller{Identity: o.Identity})
		return err
	})
}

func TestSignedLink_OnlyInPersonalMail(t *testing.T) {
	t.Parallel()
	mailServer, server := startMailServer(t), startServer(t)
	h := newHarness(t, ada, grace)
	h.addChannel("smtp://" + mailServer.addr + "/?from=hub@example.com")
	h.addChannel("smtp://" + mailServer.addr + "/?from=hub@example.com&to=team@example.com")
	h.addChannel(server.URL)
	h.addPersonalChannel("ada", server.ntfyURL("ada"))
	id := h.askQuestion("May I?")
	h.requireNotifications(id, "asked ada sent", "asked grace sent", "asked  sent", "asked  sent", "asked ada sent")
	require.NotEqual(t, linkToken(t, mailServer, ada.Email), linkToken(t, mailServer, grace.Email))
	require.NotRegexp(t, linkPattern, mailServer.messageTo(t, "team@example.com").text)
	for _, body := range server.requests() {
		require.NotContains(t, body, "/vote#")
	}
	opened, err := h.OpenLink(t.Context(), id, linkToken(t, mailServer, grace.Email), "")
	require.NoError(t, err)
	require.Equal(t, "grace", opened.Identity.Name)
	require.Equal(t, "link", opened.Identity.Via)
	require.Contains(t, string(opened.Event), "May I?")
	require.Equal(t, schema.Pending, h.status(id).Status, "opening the link decides nothing")
}

// An admin who is not the owner adds a mail server. It gets no link that answers for another
// person: the admin could read it there.
func TestSignedLink_NotThroughServerOfAnotherAdmin(t *testing.T) {
	t.Parallel()
	mailServer := startMailServer(t)
	mallory := schema.Person{Name: "mallory", Role: schema.Admin, Email: "mallory@example.com"}
	h := newHarness(t, ada, grace, mallory)
	h.addChannelBy("mallory", "", "smtp://"+mailServer.addr+"/?from=hub@example.com")
	id := h.askQuestion("May I?")
	h.requireNotifications(id, "asked ada sent", "asked grace sent", "asked mallory sent")
	require.NotRegexp(t, linkPattern, mailServer.messageTo(t, ada.Email).text)
	require.NotRegexp(t, linkPattern, mailServer.messageTo(t, grace.Email).text)
	require.NotEmpty(t, linkToken(t, mailServer, mallory.Email), "their own mail")
}

func TestSignedLink_WorksOnce(t *testing.T) {
	t.Parallel()
	mailServer := startMailServer(t)
	h := newHarness(t, ada)
	h.addChannel("smtp://" + mailServer.addr + "/?from=hub@example.com")
	id := h.askQuestion("May I?")
	h.requireNotifications(id, "asked ada sent")
	token := linkToken(t, mailServer, ada.Email)
	failed := errors.New("the disk is full")
	require.ErrorIs(t, h.VoteByLink(t.Context(), id, token, "", func(*OpenedLink) error { return failed }), failed)
	var won, refusals atomic.Int64
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			switch err := h.vote(id, token); {
			case err == nil:
				won.Add(1)
			case errors.Is(err, schema.ErrNotAllowed):
				refusals.Add(1)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 1, won.Load(), "only a success uses up the link")
	require.EqualValues(t, 19, refusals.Load())
	h.restart()
	require.ErrorContains(t, h.vote(id, token), "has been used")
}

func TestSignedLink_RejectionHasHint(t *testing.T) {
	t.Parallel()
	mailServer := startMailServer(t)
	h := newHarness(t, ada, grace)
	h.nowMS.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMilli())
	h.addChannel("smtp://" + mailServer.addr + "/?from=hub@example.com")
	id := h.askQuestion("May I?", `"timeout":600`)
	h.requireNotifications(id, "asked ada sent", "asked grace sent")
	token := linkToken(t, mailServer, ada.Email)
	payload, signature, _ := strings.Cut(token, ".")

	other := h.askQuestion("Something else?")
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	require.NoError(t, err)
	var mine linkClaims
	require.NoError(t, json.Unmarshal(raw, &mine))
	forge := func(change func(*linkClaims)) string {
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
		"truncated":           {id, token[:len(token)-1]},
		"of another person":   {id, forge(func(f *linkClaims) { f.Person = "grace" })},
		"later expiry":        {id, forge(func(f *linkClaims) { f.Expires += 3600 })},
		"of another hub":      {id, forge(func(f *linkClaims) { f.KeyID = "00000000" })},
		"without signature":   {id, payload + "."},
	} {
		_, err := h.OpenLink(t.Context(), c.id, c.token, "")
		require.ErrorIs(t, err, schema.ErrNotAllowed, name)
		var hint *schema.HintError
		require.ErrorAs(t, err, &hint, name)
		require.Contains(t, hint.Hint, "sign in", name)
		require.ErrorIs(t, h.vote(c.id, c.token), schema.ErrNotAllowed, name)
	}

	h.setAccounts(grace)
	require.ErrorContains(t, h.vote(id, token), "may no longer answer")
	h.setAccounts(ada, grace)
	h.nowMS.Add((600 * time.Second).Milliseconds())
	require.ErrorContains(t, h.vote(id, token), "has expired", "although the question is still pending")
	require.Equal(t, schema.Pending, h.status(id).Status)
	_, err = h.OpenLink(t.Context(), 99, token, "")
	require.ErrorIs(t, err, schema.ErrNotFound)
}

func TestSignedLink_EndsWithEditOrAnswer(t *testing.T) {
	t.Parallel()
	mailServer := startMailServer(t)
	h := newHarness(t, ada, grace)
	h.addChannel("smtp://" + mailServer.addr + "/?from=hub@example.com")
	id := h.askQuestion("May I?")
	h.requireNotifications(id, "asked ada sent", "asked grace sent")
	h.changeStatus(id, func(st *schema.Status) { st.Waiter = schema.Lost })
	_, err := h.OpenLink(t.Context(), id, linkToken(t, mailServer, ada.Email), "")
	require.NoError(t, err, "a change that is not an edit keeps the link valid")
	h.changeStatus(id, func(st *schema.Status) {
		st.Edited = &schema.EditedCall{Arguments: json.RawMessage(`{}`), By: "grace", Revision: st.Revision + 1}
	})
	err = h.vote(id, linkToken(t, mailServer, ada.Email))
	require.ErrorIs(t, err, schema.ErrStale)
	var hint *schema.HintError
	require.ErrorAs(t, err, &hint)
	require.Contains(t, hint.Hint, "changed after this link was sent")

	second := h.askQuestion("And this?")
	h.requireNotifications(second, "asked ada sent", "asked grace sent")
	h.approve(second)
	for _, msg := range mailServer.messages() {
		if found := linkPattern.FindStringSubmatch(msg.text); strings.Contains(msg.text, "And this?") {
			err := h.vote(second, found[1])
			require.ErrorIs(t, err, schema.ErrDecided)
			var status *schema.StatusError
			require.ErrorAs(t, err, &status)
			require.Equal(t, schema.Approve, status.Status.Outcome)
		}
	}
}

func TestSignedLink_OnlyForApprovers(t *testing.T) {
	t.Parallel()
	h := newHarness(t, ada, eve)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	h.nowMS.Store(now.UnixMilli())
	q, err := h.readQuestion(t.Context(), h.askQuestion("May I?", `"timeout":0`))
	require.NoError(t, err)
	for person, want := range map[string]bool{"ada": true, "eve": false, "nobody": false, "": false} {
		link, ends, err := h.signedLink(q, person)
		require.NoError(t, err)
		require.Equal(t, want, link != "", person)
		if want {
			require.True(t, ends.Equal(now.Add(maxLinkLifetime)), ends)
		}
	}
}

// A duplicate that arrives after the link was sent is not answered by it. It becomes a
// question of its own, with its own notification.
func TestSignedLink_ExcludesLaterDuplicates(t *testing.T) {
	t.Parallel()
	mailServer := startMailServer(t)
	h := newHarness(t, ada)
	h.addChannel("smtp://" + mailServer.addr + "/?from=hub@example.com")
	const call = `"toolCall":{"name":"Bash","arguments":{"command":"npm test"}}`
	first := h.askQuestion("May I?", call)
	h.requireNotifications(first, "asked ada sent")
	token := linkToken(t, mailServer, ada.Email)
	second := h.askQuestion("May I?", call)
	require.Equal(t, first, h.status(second).SameAs)
	require.NoError(t, h.vote(first, token))
	require.Equal(t, schema.Approve, h.status(first).Outcome)
	require.Equal(t, schema.Pending, h.status(second).Status)
	h.requireNotifications(second, "asked ada sent")
}

// A new account that reuses a name gets neither the links nor the messages of the removed
// one.
func TestReusedName_GetsNoEarlierLinks(t *testing.T) {
	t.Parallel()
	mailServer, server := startMailServer(t), startServer(t)
	h := newHarness(t, ada, grace)
	h.addChannel("smtp://" + mailServer.addr + "/?from=hub@example.com")
	h.addPersonalChannel("grace", server.ntfyURL("grace"))
	h.signInOwner("ada")
	admin, _ := h.auth.IdentityOf("ada", "session")
	made := func() {
		_, _, err := h.auth.AddPerson(t.Context(), schema.PersonDraft{Name: "grace"}, admin)
		require.NoError(t, err)
	}
	made()
	const both = `"recipients":{"mode":"selected_members","members":["ada","grace"]},"reminderIntervalSeconds":30,"reminderMaxCount":3`
	id := h.askQuestion("May I?", both)
	h.requireNotifications(id, "asked ada sent", "asked grace sent", "asked grace sent")
	token := linkToken(t, mailServer, grace.Email)
	require.NoError(t, h.auth.RemovePerson(t.Context(), "grace", admin))
	h.createdAt.Store("grace", time.Now().Add(time.Second))
	made()
	_, err := h.OpenLink(t.Context(), id, token, "")
	require.ErrorContains(t, err, "may no longer answer")
	require.ErrorIs(t, h.vote(id, token), schema.ErrNotAllowed)
	h.changeStatus(id, func(st *schema.Status) { st.Reminders = 1 })
	h.requireNotifications(id, "asked ada sent", "asked grace sent", "asked grace sent", "reminder ada sent", "reminder grace suppressed gone", "reminder grace suppressed gone")
}

// The browsers and settings of a removed person do not pass to a new account with the same
// name.
func TestRemovedPerson_LosesBrowsersAndSettings(t *testing.T) {
	t.Parallel()
	h := newHarness(t, grace)
	h.signInOwner("ada")
	admin, _ := h.auth.IdentityOf("ada", "session")
	_, _, err := h.auth.AddPerson(t.Context(), schema.PersonDraft{Name: "grace"}, admin)
	require.NoError(t, err)
	require.NoError(t, h.Store.AddPushSubscription(t.Context(), "grace", schema.PushSubscription{Endpoint: "https://push.example.com/1"}, 1))
	h.setSettings("grace", schema.NotificationSettings{CooldownMinutes: 10080})
	require.NoError(t, h.auth.RemovePerson(t.Context(), "grace", admin))
	browsers, err := h.Store.PushSubscriptions(t.Context(), "grace")
	require.NoError(t, err)
	require.Empty(t, browsers)
	settings, err := h.Store.NotificationSettings(t.Context(), "grace")
	require.NoError(t, err)
	require.Zero(t, settings.CooldownMinutes, "a long cooldown would hide their notifications")
}
