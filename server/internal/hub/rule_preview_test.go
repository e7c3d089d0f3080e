package hub

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

func (h *testHub) preview(d *schema.RuleDraft) (p schema.RulePreview) {
	h.t.Helper()
	raw, err := h.PreviewRule(h.t.Context(), d, Caller{Identity: ada})
	require.NoError(h.t, err)
	require.NoError(h.t, json.Unmarshal(raw, &p))
	return p
}

func newRuleDraft(from schema.EventID, then string) *schema.RuleDraft {
	return &schema.RuleDraft{From: from, Then: then, Scope: schema.ScopeWhen, Reach: schema.ReachEverywhere, When: []schema.Condition{
		{Argument: "command", Is: "starts_with", Value: json.RawMessage(`"npm test"`)},
	}}
}

// TestPreviewRule_CountsHumanDecisions: only decisions of people agree with or oppose a rule.
func TestPreviewRule_CountsHumanDecisions(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	answer := func(event string, r *schema.Response) schema.EventID {
		id := h.post(event).ID
		_, err := h.Respond(t.Context(), id, r, Caller{})
		require.NoError(t, err)
		return id
	}
	answer(bashRequest("s", "npm test"), approval())
	edited := approval()
	edited.ModifiedArguments = json.RawMessage(`{"command":"npm test --bail"}`)
	changed := answer(strings.Replace(bashRequest("s", "npm test"), `"arguments"`, `"editable":true,"arguments"`, 1), edited)
	no := answer(bashRequest("s", "npm test x"), denial())
	answer(bashRequest("s", "npm test", `"risk":"high"`), approval()) // too risky for a rule
	answer(bashRequest("s", "npm run lint"), approval())
	cancelled := h.post(bashRequest("s", "npm test c")).ID
	_, err := h.Cancel(t.Context(), cancelled, schema.Cancel{}, Caller{})
	require.NoError(t, err)
	h.makeRule(schema.ThenAllow) // posts one more question, which stays pending
	h.post(bashRequest("s", "npm test by a rule"))
	h.post(strings.Replace(bashRequest("s", "npm test"), `"type":"permission"`, `"type":"question"`, 1))

	p := h.preview(newRuleDraft(no, schema.ThenAllow))
	require.Equal(t, []int64{8, 6, 1, 2, 3}, []int64{p.Looked, p.Matched, p.Agreed, p.Opposed, p.Undecided})
	require.Equal(t, []schema.EventID{no, changed}, []schema.EventID{p.Examples[0].ID, p.Examples[1].ID}, "opposing decisions come first")
	require.Len(t, p.Examples, 5)
	require.NotContains(t, fmt.Sprint(p.Examples), "50123", "no addresses")
	p = h.preview(newRuleDraft(no, schema.ThenDeny))
	require.Equal(t, []int64{1, 2}, []int64{p.Agreed, p.Opposed}, "a denying rule inverts the counts")
	d := newRuleDraft(no, schema.ThenAllow)
	d.Reach = schema.ReachSession
	h.post(bashRequest("s2", "npm test"))
	require.Equal(t, int64(6), h.preview(d).Matched, "questions outside the reach do not match")
}

// BenchmarkPreviewRule previews a rule on 5,000 stored permissions.
func BenchmarkPreviewRule(b *testing.B) {
	s := storetest.Open(b, storetest.Options{})
	h := New(Config{Store: s, Feed: feed.New(s.Head(), 64, 1<<20)})
	drafts := make([]*store.EventDraft, 0, previewMaxQuestions)
	for i := range previewMaxQuestions {
		d, err := h.draft(b.Context(), []byte(bashRequest(fmt.Sprintf("s%d", i), "npm test src")), Caller{})
		require.NoError(b, err)
		drafts = append(drafts, &d.EventDraft)
	}
	for i := 0; i < len(drafts); i += 1000 {
		for _, r := range s.AppendAll(b.Context(), drafts[i:i+1000]) {
			require.NoError(b, r.Err)
		}
	}
	var looked int64
	for b.Loop() {
		raw, err := h.PreviewRule(b.Context(), newRuleDraft(1, schema.ThenAllow), Caller{Identity: ada})
		require.NoError(b, err)
		var p schema.RulePreview
		require.NoError(b, json.Unmarshal(raw, &p))
		looked = p.Looked
		require.Equal(b, looked, p.Matched)
	}
	b.ReportMetric(float64(looked), "looked")
}
