package studio_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/ratings"
	"github.com/hookback/hookback/server/internal/storetest"
	"github.com/hookback/hookback/server/internal/studio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a studio and a hub over a new store.
type fixture struct {
	*studio.Service
	hub *hub.Hub
	t   testing.TB
	now time.Time
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	db := storetest.Open(t, storetest.Options{Fast: true})
	t.Cleanup(func() { _ = db.Close() })
	f := feed.New(0, 64, 1<<20)
	x := &fixture{hub: hub.New(hub.Config{Store: db, Feed: f}), t: t, now: time.Now()}
	x.Service = studio.New(studio.Config{Calls: ratings.New(ratings.Config{Store: db, Feed: f}), Clock: func() time.Time { return x.now }})
	return x
}

// post posts an event of a session of the application shop.
func (x *fixture) post(session, typ, payload, members string) schema.EventID {
	x.t.Helper()
	if members != "" {
		members = "," + members
	}
	saved, err := x.hub.Ingest(x.t.Context(), fmt.Appendf(nil, `{"source_app":"shop","session_id":%q,"hook_event_type":%q,"payload":%s%s}`, session, typ, payload, members), hub.Caller{})
	require.NoError(x.t, err)
	x.hub.ResponseSent(saved.ID)
	return saved.ID
}

// call posts the start of a command with this id.
func (x *fixture) call(session, id, command, members string) schema.EventID {
	x.t.Helper()
	return x.post(session, "PreToolUse", fmt.Sprintf(`{"tool_name":"Bash","tool_use_id":%q,"tool_input":{"command":%q}}`, id, command), members)
}

func (x *fixture) end(session, typ, id string) {
	x.t.Helper()
	x.post(session, typ, fmt.Sprintf(`{"tool_name":"Bash","tool_use_id":%q}`, id), "")
}

// ask posts a question about a command, and answers it.
func (x *fixture) ask(session, id, command string, permission bool) schema.EventID {
	x.t.Helper()
	question := fmt.Sprintf(`"humanInTheLoop":{"question":"May I?","type":"permission","toolCall":{"name":"Bash","id":%q,"arguments":{"command":%q}}}`, id, command)
	asked := x.post(session, "PermissionRequest", `{}`, question)
	_, err := x.hub.Respond(x.t.Context(), asked, &schema.Response{Permission: &permission}, hub.Caller{})
	require.NoError(x.t, err)
	return asked
}

// report posts a report of files, each as origin, path and text.
func (x *fixture) report(session, host string, files ...[3]string) {
	x.t.Helper()
	report := control.PolicyReport{Host: host}
	for _, f := range files {
		report.Files = append(report.Files, control.PolicyFile{Origin: f[0], Path: f[1], Text: f[2]})
	}
	payload, err := json.Marshal(report)
	require.NoError(x.t, err)
	x.post(session, control.PolicyEvent, string(payload), "")
}

func (x *fixture) replay(text string) *history.Replay {
	x.t.Helper()
	got, err := x.Replay(x.t.Context(), &history.ReplayDraft{Policy: text})
	require.NoError(x.t, err)
	return got
}

// hits returns the hits and the opposed answers of each rule, by path.
func (x *fixture) hits() map[string]string {
	x.t.Helper()
	list, err := x.Policies(x.t.Context())
	require.NoError(x.t, err)
	require.True(x.t, list.Complete)
	found := map[string]string{}
	for _, p := range list.Policies {
		var counts []string
		for _, r := range p.Rules {
			counts = append(counts, fmt.Sprintf("%d/%d", r.Hits, r.Opposed))
		}
		found[p.Host+p.Path] = strings.Join(counts, " ")
	}
	return found
}

// rule returns a rule about commands that run a program.
func rule(program, then string) string {
	return fmt.Sprintf(`{"tool":"Bash","when":{"command":{"runs":%q}},"then":%q}`, program, then)
}

func rules(list ...string) string { return `{"rules":[` + strings.Join(list, ",") + `]}` }

func TestReplay_DecidersAndOutcomes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		post func(x *fixture)
		want string
	}{
		"just started": {func(x *fixture) { x.call("s", "t1", "git push", "") }, "agent open"},
		"ran":          {func(x *fixture) { x.call("s", "t1", "git push", ""); x.end("s", "PostToolUse", "t1") }, "agent ran"},
		"failed":       {func(x *fixture) { x.call("s", "t1", "git push", ""); x.end("s", "PostToolUseFailure", "t1") }, "agent failed"},
		"refused":      {func(x *fixture) { x.call("s", "t1", "git push", ""); x.end("s", "PermissionDenied", "t1") }, "agent refused"},
		"denied by policy": {func(x *fixture) {
			x.call("s", "t1", "git push", `"hook":{"verdict":"deny","by":"policy","rule":"p:3"}`)
		}, "policy refused"},
		"approved": {func(x *fixture) {
			x.call("s", "t1", "git push", "")
			x.ask("s", "t1", "git push", true)
			x.end("s", "PostToolUse", "t1")
		}, "person ran opposed"},
		"denied": {func(x *fixture) {
			x.call("s", "t1", "git push", "")
			x.ask("s", "t1", "git push", false)
		}, "person refused"},
		"asked at the agent": {func(x *fixture) {
			x.call("s", "t1", "git push", "")
			x.end("s", "PermissionRequest", "t1")
			x.end("s", "PostToolUse", "t1")
		}, "person ran"},
		"the end of another session": {func(x *fixture) { x.call("s", "t1", "git push", ""); x.end("other", "PostToolUse", "t1") }, "agent open"},
		"after the session": {func(x *fixture) {
			x.call("s", "t1", "git push", "")
			x.post("s", "SessionEnd", `{}`, "")
			x.end("s", "PostToolUse", "t1")
		}, "agent open"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newFixture(t)
			c.post(x)
			got := x.replay(rules(rule("git push", "deny")))
			require.EqualValues(t, 1, got.Looked)
			require.Len(t, got.Examples, 1)
			example := fmt.Sprintf("%s %s", got.Examples[0].Decided, got.Examples[0].Outcome)
			if got.Examples[0].Opposed {
				example += " opposed"
			}
			require.Equal(t, c.want, example)
		})
	}
}

func TestReplay_FirstRuleDecides(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.call("s", "t1", "git push --force", "")
	x.call("s", "t2", "git fetch", "")
	got := x.replay(rules(rule("git push", "ask"), rule("git", "deny")))
	require.Equal(t, []int64{1, 1, 0}, []int64{got.Asked, got.Denied, got.Unmatched})
	require.Equal(t, []int{1, 0}, []int{got.Examples[0].Rule, got.Examples[1].Rule}, "newest first")
	got = x.replay(`{"rules":[{"tool":"Bash","when":{"command":{"greater":5}},"then":"deny"}]}`)
	require.Equal(t, []int64{2, 0, 0}, []int64{got.Asked, got.Denied, got.Unmatched}, "a call that a rule can't evaluate is a question, as in hooks")
}

func TestReplay_AddsRuleToFile(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.call("s", "t1", "git push", "")
	x.call("s", "t2", "git fetch", "")
	add := rule("git push", "ask")
	replay := func(text, add string) (*history.Replay, error) {
		return x.Replay(t.Context(), &history.ReplayDraft{Policy: text, Add: add})
	}
	got, err := replay(`{"rules": [`+rule("git", "deny")+`]}`, add)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 0, 1}, []int64{got.Asked, got.Denied, got.Unmatched}, "only the new rule is compared")
	require.Equal(t, `Bash when command runs "git push": ask`, got.Sentence)
	require.Equal(t, `{"rules": [`+rule("git", "deny")+",\n    "+add+"\n  ]}", got.Policy)
	got, err = replay("", add)
	require.NoError(t, err)
	require.Equal(t, "{\n  \"rules\": [\n    "+add+"\n  ]\n}\n", got.Policy)
	got, err = replay(`{"rules": {}}`, add)
	require.NoError(t, err)
	require.Empty(t, got.Policy)
	for _, wrong := range []string{" ", add + "," + add, add + `],"rules":[` + add, `{"tool":"Bash"}`} {
		_, err := replay("", wrong)
		require.Error(t, err, wrong)
	}
}

func TestReplay_ReadsTextsAsHooksDo(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.call("s", "t1", "git push", "")
	for _, text := range []string{
		"\ufeff" + rules(rule("git push", "ask")),
		"{\r\n \"$schema\": \"x\",\r\n \"rules\": [\r\n" + rule("git push", "ask") + "\r\n]\r\n}",
		strings.ReplaceAll(rules(rule("git push", "ask")), ",", " ,\n\t\t"),
		`{"rules":[{"tool":"Bash","when":{"command":{"runs":"git push"}},"then":"ask","reason":"tab\tquote\" \u2028"}]}`,
	} {
		got := x.replay(text)
		require.EqualValues(t, 1, got.Asked, text)
	}
	for _, text := range []string{
		`{"Rules":[]}`, `{"rules":[],"rules":[]}`, `{"rules":[{"tool":"Bash","then":"ask","Then":"deny"}]}`, `{"rules":[]} x`, "\xff", `[]`, strings.Repeat("[", 5000),
	} {
		_, err := x.Replay(t.Context(), &history.ReplayDraft{Policy: text})
		require.ErrorIs(t, err, schema.ErrNoPolicy, text)
		_, hookErr := policy.Parse("f", []byte(text))
		require.Error(t, hookErr)
	}
}

func TestReplay_ReadsLastDays(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.call("s", "t1", "git push", "")
	x.report("s", "laptop", [3]string{"user", "/u", rules(rule("git", "ask"))})
	require.EqualValues(t, 1, x.replay(rules(rule("git", "ask"))).Asked)
	x.now = x.now.Add(31 * 24 * time.Hour)
	got := x.replay(rules(rule("git", "ask")))
	require.Zero(t, got.Looked)
	require.True(t, got.Complete)
	require.Empty(t, x.hits())
}

// The files of a session are evaluated together: the user's rules come first, and other sessions have other
// files.
func TestPolicies_CountsHitsPerSession(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	user := [3]string{"user", "/u", rules(rule("git push", "deny"), rule("curl", "ask"))}
	shop := [3]string{"project", "/shop", rules(rule("git", "ask"), rule("make", "deny"))}
	x.report("s1", "laptop", user, shop)
	x.report("s2", "laptop", user)
	x.report("s3", "desktop", [3]string{"user", "/u", rules(rule("make", "ask"))}, shop)
	x.call("s1", "t1", "git push", "")
	x.call("s1", "t2", "git fetch", "")
	x.ask("s1", "t3", "make all", true)
	x.call("s2", "t4", "git fetch", "")
	x.call("s2", "t5", "curl x.example", "")
	x.call("s3", "t6", "make", "")
	require.Equal(t, map[string]string{"laptop/u": "1/0 1/0", "laptop/shop": "1/0 1/1", "desktop/u": "1/0", "desktop/shop": "0/0 0/0"}, x.hits())
	x.report("s1", "laptop", shop) // it was resumed without the user's file
	require.Equal(t, "0/0 1/0", x.hits()["laptop/u"])
	require.Equal(t, "2/0 1/1", x.hits()["laptop/shop"])
}

func TestPolicies_LimitsFilesOfReport(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	var files [][3]string
	for i := range 50 {
		files = append(files, [3]string{"project", fmt.Sprintf("/p%02d", i), `{"rules":[]}`})
	}
	x.report("s", "laptop", files...)
	x.post("s", control.PolicyEvent, `{"files":[{"origin":"user","path":"/u","text":7}]}`, "")
	x.post("s", control.PolicyEvent, `{"files":[{"origin":"user","path":"`+strings.Repeat("p", 2000)+`","text":"{}"}]}`, "")
	require.Len(t, x.hits(), 32)
	x.post("s", control.PolicyEvent, `{"files":[],"x":"`+strings.Repeat("x", schema.MaxListed)+`"}`, "")
	list, err := x.Policies(t.Context())
	require.NoError(t, err)
	require.False(t, list.Complete, "a report that lists leave out can hide files")
}

func TestAcquire_LimitsReads(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	var releases []func()
	for range 2 {
		release, err := x.Acquire(t.Context())
		require.NoError(t, err)
		releases = append(releases, release)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := x.Acquire(canceled)
	require.ErrorIs(t, err, context.Canceled)

	waiting, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	var errs [16]error
	for i := range errs {
		done.Go(func() {
			errs[i] = schema.ErrBusy
			for errors.Is(errs[i], schema.ErrBusy) { // while the loop below has the last place
				_, errs[i] = x.Acquire(waiting)
			}
		})
	}
	require.Eventually(t, func() bool {
		_, err := x.Policies(canceled)
		return schema.ProblemOf(err).Code == "busy"
	}, time.Minute, time.Millisecond)
	stop()
	done.Wait()
	for _, err := range errs {
		require.ErrorIs(t, err, context.Canceled)
	}
	for _, release := range releases {
		release()
	}
	require.Empty(t, x.hits())
}
