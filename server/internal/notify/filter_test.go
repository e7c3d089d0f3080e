package notify

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// addFiltered adds a channel with a filter.
func (h *harness) addFiltered(name string, filter schema.ChannelFilter) *store.Channel {
	h.t.Helper()
	c, err := NewChannel(&schema.ChannelDraft{Name: name, URL: startServer(h.t).ntfyURL("t")}, "ada")
	require.NoError(h.t, err)
	require.NoError(h.t, h.AddChannel(h.t.Context(), c))
	require.NoError(h.t, h.SetFilter(h.t.Context(), c.ID, filter, "ada"))
	return c
}

// channelsOf returns the names of the channels that are told of a question, sorted.
func (h *harness) channelsOf(id schema.EventID) (names []string) {
	h.t.Helper()
	h.requirePlanned(id)
	planned, err := h.Store.NotificationsOf(h.t.Context(), id)
	require.NoError(h.t, err)
	for i := range planned {
		names = append(names, planned[i].Notification.Channel)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

const (
	paymentsCall  = `"toolCall":{"name":"Bash","arguments":{"command":"rm -r /srv/shop/payments"}}`
	paymentsOwned = `"context":{"cwd":"/srv/shop/api","owners":{"files":[{"paths":["payments"],"owners":["@Shop/payments","lin@example.com"]}]}}`
)

func TestChannelFilter_SelectsRequests(t *testing.T) {
	t.Parallel()
	h := newHarness(t, schema.Person{Name: "ada"}, schema.Person{Name: "grace", Handles: []string{"@shop/payments"}})
	for name, filter := range map[string]schema.ChannelFilter{
		"all": {}, "project": {Projects: []string{"other", "srv/shop"}}, "other project": {Projects: []string{"sho", "shop/web"}},
		"path": {Paths: []string{"payments/*"}}, "agent": {Agents: []string{"SH*"}}, "other agent": {Agents: []string{"sho"}},
		"low": {Risk: schema.LowRisk}, "high": {Risk: schema.HighRisk}, "critical": {Risk: schema.CriticalRisk},
		"team": {Owners: []string{"@shop/Payments"}}, "person": {Owners: []string{"grace"}}, "mail": {Owners: []string{"lin@example.com"}},
		"other owner": {Owners: []string{"ada", "@shop"}},
		"both":        {Paths: []string{"payments"}, Risk: schema.HighRisk}, "not both": {Paths: []string{"payments"}, Agents: []string{"other"}},
	} {
		h.addFiltered(name, filter)
	}
	require.Equal(t, []string{"agent", "all", "both", "high", "low", "mail", "path", "person", "project", "team"},
		h.channelsOf(h.askQuestion("Delete?", paymentsCall, paymentsOwned, `"risk":"high"`)))
	require.Equal(t, []string{"agent", "all"}, h.channelsOf(h.askQuestion("Ready?")), "neither a call nor a place")
	require.Equal(t, 1, h.Reachable(t.Context()), "a filter may select no request")
}

// If the owners could not decide, everyone is asked: also through the channels of other owners.
func TestChannelFilter_OwnersWhoCanNotDecide(t *testing.T) {
	t.Parallel()
	h := newHarness(t, schema.Person{Name: "ada"})
	h.signInOwner("ada")
	h.addFiltered("ops", schema.ChannelFilter{Owners: []string{"@ops"}})
	toOwners := `"recipients":{"owners":true}`
	require.Equal(t, []string{"ops"}, h.channelsOf(h.askQuestion("Delete?", paymentsCall, paymentsOwned, toOwners)), "no one has these names")
	require.Empty(t, h.channelsOf(h.askQuestion("Delete?", paymentsCall, paymentsOwned)), "they were not asked")
	matched := h.askQuestion("Wait?", paymentsCall, paymentsOwned, `"escalateAfterSeconds":60,"escalateTo":{"mode":"owner"}`)
	h.changeStatus(matched, func(st *schema.Status) { st.Owners, st.Reminders = &schema.OwnerMatch{State: schema.OwnersMatched}, 1 })
	h.requirePlanned(h.askQuestion("Next?"))
	require.Empty(t, h.channelsOf(matched))
	h.changeStatus(matched, func(st *schema.Status) { st.EscalatedAt = 1 })
	h.eventually("everyone is asked", func() bool { return len(h.channelsOf(matched)) == 1 })
}

func TestChannelFilter_Changes(t *testing.T) {
	t.Parallel()
	h := newHarness(t, schema.Person{Name: "ada"})
	c := h.addFiltered("ops", schema.ChannelFilter{Agents: []string{"other"}})
	require.Empty(t, h.channelsOf(h.askQuestion("One?")))
	require.NoError(t, h.SetFilter(t.Context(), c.ID, schema.ChannelFilter{Agents: []string{"shop"}}, "ada"))
	require.Equal(t, []string{"ops"}, h.channelsOf(h.askQuestion("Two?")))
	h.restart()
	stored, err := h.Store.Channels(t.Context())
	require.NoError(t, err)
	require.Equal(t, &schema.ChannelFilter{Agents: []string{"shop"}}, h.PublicChannel(&stored[0]).Filter)
	require.NoError(t, h.SetFilter(t.Context(), c.ID, schema.ChannelFilter{}, "ada"))
	require.ErrorIs(t, h.SetFilter(t.Context(), 99, schema.ChannelFilter{}, "ada"), schema.ErrNotFound)
	for field, f := range map[string]schema.ChannelFilter{
		"projects": {Projects: []string{""}}, "agents": {Agents: make([]string, 21)}, "risk": {Risk: "severe"},
	} {
		var fault *schema.FieldError
		require.ErrorAs(t, h.SetFilter(t.Context(), c.ID, f, "ada"), &fault)
		require.Equal(t, field, fault.Field)
	}
}
