package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// away is a Reach in which some people have quiet hours.
type away []string

func (away) Reachable(context.Context) int { return 0 }

func (a away) IsAway(_ context.Context, person string) bool {
	return strings.Contains(strings.Join(a, " "), person)
}

// owned returns an event that asks about an edit of a file. Each of groups are the owners of one file.
func owned(recipients string, groups ...string) string {
	files := make([]schema.OwnedFiles, len(groups))
	for i, owners := range groups {
		files[i] = schema.OwnedFiles{Paths: []string{"payments/charge.go"}, Owners: strings.Fields(owners)}
	}
	stated, _ := json.Marshal(schema.FileOwners{Files: files, From: "CODEOWNERS of HEAD"})
	return eventWith(fmt.Sprintf(`"humanInTheLoop":{"question":"Edit?","type":"permission","context":{"cwd":"/w/shop","owners":%s},
		"toolCall":{"name":"Edit","arguments":{"file_path":"/w/shop/payments/charge.go","old_string":"a","new_string":"b"}}%s}`, stated, recipients))
}

const toOwners = `,"recipients":{"owners":true}`

func (h *defaultsHub) setHandles(name string, handles ...string) {
	h.t.Helper()
	_, err := h.People.ChangePerson(h.t.Context(), name, schema.PersonDraft{Handles: &handles}, ada)
	require.NoError(h.t, err)
}

// Only an owner decides. Everyone else gets 403 with the names of the owners.
func TestOwners_OnlyTheyDecide(t *testing.T) {
	t.Parallel()
	h := newDefaultsHub(t)
	h.setHandles("grace", "@grace-h", "@shop/payments")
	id := h.post(owned(toOwners, "@GRACE-H @nobody")).ID
	st := h.status(id)
	require.Equal(t, []string{"grace"}, st.Recipients)
	require.Equal(t, &schema.OwnerMatch{State: schema.OwnersMatched}, st.Owners)
	_, err := h.vote(id, "linus", approval())
	require.ErrorIs(t, err, schema.ErrNotAllowed)
	var hint *schema.HintError
	require.ErrorAs(t, err, &hint)
	require.Equal(t, "Only owners of the files may decide: grace.", hint.Hint)
	_, err = h.Respond(t.Context(), id, approval(), Caller{})
	require.ErrorIs(t, err, schema.ErrSignIn, "no one without an account is an owner")
	require.Equal(t, schema.Approve, h.mustVote(id, "grace", approval()).Outcome)
}

func TestOwners_Match(t *testing.T) {
	t.Parallel()
	h := newDefaultsHub(t)
	h.setHandles("grace", "@grace-h", "@shop/payments")
	h.setHandles("bo", "bo@example.com", "@shop/payments")
	own := "mine@example.com"
	_, err := h.People.ChangePerson(t.Context(), "linus", schema.PersonDraft{Email: &own}, ada)
	require.NoError(t, err)
	_, _, err = h.People.AddPerson(t.Context(), schema.PersonDraft{Name: "vic", Role: schema.Viewer}, ada)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		event, state string
		people       []string
	}{
		"account name":               {owned(toOwners, "@Linus"), schema.OwnersMatched, []string{"linus"}},
		"team":                       {owned(toOwners, "@shop/payments"), schema.OwnersMatched, []string{"bo", "grace"}},
		"mail address":               {owned(toOwners, "BO@example.com"), schema.OwnersMatched, []string{"bo"}},
		"one's own mail address":     {owned(toOwners, "mine@example.com"), schema.OwnersUnknown, nil},
		"no one here":                {owned(toOwners, "@shop/web @stranger"), schema.OwnersUnknown, nil},
		"a viewer":                   {owned(toOwners, "@vic"), schema.OwnersUnknown, nil},
		"none stated":                {owned(toOwners), schema.OwnersUnstated, nil},
		"not asked for":              {owned("", "@grace-h"), "", nil},
		"several files, one of both": {owned(toOwners, "@grace-h @bo", "@linus @grace-h"), schema.OwnersMatched, []string{"grace"}},
		"several files, none":        {owned(toOwners, "@bo", "@grace-h"), schema.OwnersMatched, []string{"bo", "grace"}},
		"several files, one unknown": {owned(toOwners, "@bo", "@stranger"), schema.OwnersMatched, []string{"bo"}},
		"quorum":                     {owned(toOwners+`,"requiredApprovals":2`, "@shop/payments"), schema.OwnersMatched, []string{"bo", "grace"}},
		"too few for the quorum":     {owned(toOwners+`,"requiredApprovals":2`, "@grace-h"), schema.OwnersTooFew, nil},
		"among the admins":           {owned(`,"recipients":{"mode":"owner_admins","owners":true}`, "@shop/payments"), schema.OwnersMatched, []string{"grace"}},
		"no owner is an admin":       {owned(`,"recipients":{"mode":"owner_admins","owners":true}`, "@bo"), schema.OwnersUnknown, []string{"ada", "grace", "linus"}},
	} {
		_, st := h.asked(c.event)
		require.ElementsMatch(t, c.people, st.Recipients, name)
		if c.state == "" {
			require.Nil(t, st.Owners, name)
		} else {
			require.Equal(t, c.state, st.Owners.State, name)
		}
	}
	id := h.post(owned(toOwners+`,"requiredApprovals":2`, "@shop/payments")).ID
	require.Equal(t, schema.Pending, h.mustVote(id, "bo", approval()).Status)
	require.Equal(t, schema.Approve, h.mustVote(id, "grace", approval()).Outcome)
}

// An agent's statement about owners takes people away from those of the hub's settings, and lowers nothing.
func TestOwners_NeverWidenTheDefaults(t *testing.T) {
	t.Parallel()
	h := newDefaultsHub(t)
	to := func(event string) (people []string, approvals int, state string) {
		_, st := h.asked(event)
		return st.Recipients, st.RequiredApprovals, st.Owners.State
	}
	h.set(`[{"recipients":{"mode":"selected_members","members":["ada","grace"]}}]`)
	people, _, state := to(owned(toOwners, "@bo @linus"))
	require.ElementsMatch(t, []string{"ada", "grace"}, people)
	require.Equal(t, schema.OwnersUnknown, state)
	people, _, _ = to(owned(toOwners, "@bo @grace"))
	require.Equal(t, []string{"grace"}, people)
	h.set(`[{"requiredApprovals":2}]`)
	people, approvals, _ := to(owned(toOwners, "@bo @grace"))
	require.ElementsMatch(t, []string{"ada", "grace", "linus"}, people, "two admins, as without owners")
	require.Equal(t, 2, approvals)
	people, approvals, _ = to(owned(toOwners, "@bo @grace @linus"))
	require.ElementsMatch(t, []string{"grace", "linus"}, people)
	require.Equal(t, 2, approvals)
	h.set(`[{"recipients":{"owners":true},"requiredApprovals":2}]`)
	people, approvals, state = to(owned("", "@bo @grace"))
	require.ElementsMatch(t, []string{"bo", "grace"}, people)
	require.Equal(t, 2, approvals)
	require.Equal(t, schema.OwnersMatched, state)
	people, approvals, state = to(owned("", "@bo"))
	require.Empty(t, people, "everyone")
	require.Equal(t, 2, approvals)
	require.Equal(t, schema.OwnersTooFew, state)
}

// The team's own map of files to people needs no word of the agent.
func TestRequestDefaults_ApplyByPath(t *testing.T) {
	t.Parallel()
	h := newDefaultsHub(t)
	h.set(`[{"paths":["shop/payments/*"],"recipients":{"mode":"selected_members","members":["grace"]}},{"paths":["*.sql"],"requiredApprovals":2}]`)
	for command, people := range map[string][]string{
		"rm /w/shop/payments/a.go": {"grace"}, "rm -r /w/shop/payments": {"grace"}, "cat /w/shop/README": nil, "rm /w/shop/x.sql": {"ada", "grace", "linus"},
	} {
		_, st := h.asked(bashRequest("s", command))
		require.ElementsMatch(t, people, st.Recipients, command)
	}
	_, st := h.asked(eventWith(`"humanInTheLoop":{"question":"Which?","type":"choice","choices":["a","b"]}`))
	require.Nil(t, st.Defaults, "a question without a call touches no file")
}

// In the quiet hours of all owners everyone may answer after half of the time.
func TestOwners_FallBackInQuietHours(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newDefaultsHub(t, clock.configure, func(c *Config) { c.Reach = away{"bo", "grace"} })
	id := h.post(owned(toOwners+`,"timeout":600`, "@bo @grace")).ID
	st := h.status(id)
	require.ElementsMatch(t, []string{"bo", "grace"}, st.Recipients)
	require.Equal(t, schema.Millis(clock.now().Add(5*time.Minute).UnixMilli()), st.Owners.FallbackAt)
	_, err := h.vote(id, "linus", approval())
	require.ErrorIs(t, err, schema.ErrNotAllowed)
	clock.advance(5*time.Minute + time.Second)
	h.runDue()
	require.ElementsMatch(t, []string{"ada", "bo", "grace", "linus"}, h.status(id).Recipients)
	require.Equal(t, schema.Approve, h.mustVote(id, "linus", approval()).Outcome)
	for name, event := range map[string]string{
		"one is there":     owned(toOwners, "@bo @linus"),
		"critical":         owned(toOwners+`,"risk":"critical"`, "@bo"),
		"stated otherwise": owned(toOwners+`,"escalateAfterSeconds":60,"escalateTo":{"mode":"owner"}`, "@bo"),
	} {
		require.Zero(t, h.status(h.post(event).ID).Owners.FallbackAt, name)
	}
	require.NotZero(t, h.status(h.post(owned(toOwners+`,"requiredApprovals":2`, "@bo @linus")).ID).Owners.FallbackAt, "two are needed")
}

func TestOwners_HubWithoutAccountsAsksEveryone(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.post(owned(toOwners, "@bo")).ID
	require.Equal(t, schema.OwnersUnknown, h.status(id).Owners.State)
	require.Empty(t, h.status(id).Recipients)
}

func TestOwners_Limits(t *testing.T) {
	t.Parallel()
	h := newDefaultsHub(t)
	for _, groups := range [][]string{{strings.Repeat("@a ", 51)}, {"@" + strings.Repeat("x", 254)}, {""}, strings.Fields(strings.Repeat("@a ", 51))} {
		_, err := h.Ingest(t.Context(), []byte(owned(toOwners, groups...)), Caller{})
		var field *schema.FieldError
		require.ErrorAs(t, err, &field)
		require.Contains(t, field.Field, "context.owners.files")
	}
	for _, handles := range [][]string{{"grace"}, {"@a b"}, {"@a\u202e"}, {""}, strings.Fields(strings.Repeat("@a ", 21))} {
		_, err := h.People.ChangePerson(t.Context(), "bo", schema.PersonDraft{Handles: &handles}, ada)
		require.ErrorContains(t, err, "handles")
	}
}
