package hubtest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"hash/crc32"
	"math/big"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

// createPeople creates a database with these people and returns the token of each. The first
// is the owner.
func createPeople(t *testing.T, file string, names ...string) map[string]string {
	t.Helper()
	db := storetest.Open(t, storetest.Options{File: file})
	var c store.PeopleChange
	tokens := map[string]string{}
	for i, name := range names {
		body := auth.OperatorPrefix + strings.Repeat("0", 43-len(name)) + name
		sum := new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(body)))).Text(62)
		tokens[name] = body + strings.Repeat("0", 6-len(sum)) + sum
		hash := sha256.Sum256([]byte(tokens[name]))
		c.Persons = append(c.Persons, store.Person{Name: name, Role: schema.Admin, Owner: i == 0, CreatedAt: time.UnixMilli(1)})
		c.Tokens = append(c.Tokens, store.Token{ID: name, Name: name, Person: name, Hash: hash[:], CreatedAt: time.UnixMilli(1)})
	}
	_, err := db.ChangePeople(t.Context(), &c)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return tokens
}

// vote answers with a token. It returns the code of the problem, empty if the vote counts.
func vote(t *testing.T, hub *hubtest.Hub, id schema.EventID, token string, r *schema.Response) (code string, st schema.Status) {
	t.Helper()
	body, err := json.Marshal(r)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, hub.URL()+schema.At(schema.PathRespond, id), bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	var got struct {
		Code                 string
		HumanInTheLoopStatus schema.Status
	}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&got))
	return got.Code, got.HumanInTheLoopStatus
}

// askQuestion asks as an agent does, and returns when the hub has the question.
func askQuestion(t *testing.T, hub *hubtest.Hub, q *schema.HumanInTheLoop) (schema.EventID, <-chan agentclient.Decision) {
	t.Helper()
	client := agentclient.New(hub.Options())
	t.Cleanup(func() { _ = client.Close() })
	known, decided := make(chan schema.EventID, 1), make(chan agentclient.Decision, 1)
	r := agentclient.Request{Question: q.Question, OnWaiting: func(w agentclient.WaitStatus) { known <- w.EventID }}
	r.Event.HumanInTheLoop = q
	go func() {
		d, err := client.Ask(t.Context(), r)
		if err != nil {
			t.Error(err)
		}
		decided <- d
	}()
	return <-known, decided
}

func approval() *schema.Response { v := true; return &schema.Response{Permission: &v} }
func denial() *schema.Response   { v := false; return &schema.Response{Permission: &v} }

// TestQuorum_AgentRunsApprovedCall: two of three people approve an edited call over HTTP, and
// the agent gets exactly that call.
func TestQuorum_AgentRunsApprovedCall(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hub.db")
	token := createPeople(t, file, "ada", "grace", "linus")
	hub := hubtest.Start(t, hubtest.DB(file))
	id, decided := askQuestion(t, hub, &schema.HumanInTheLoop{
		Question: "Remove it?", Type: schema.Permission, RequiredApprovals: 2,
		ToolCall: &schema.ToolCall{Name: "Bash", Arguments: json.RawMessage(`{"command":"rm -r build"}`), Editable: true},
	})
	code, _ := vote(t, hub, id, "", approval())
	require.Equal(t, "sign_in", code)
	code, _ = vote(t, hub, id, token["linus"], approval())
	require.Empty(t, code)
	edit := approval()
	edit.ModifiedArguments, edit.Comment = json.RawMessage(`{"command":"rm -r build/old"}`), "Only the old ones."
	code, st := vote(t, hub, id, token["ada"], edit)
	require.Empty(t, code)
	require.Equal(t, []string{"grace", "linus"}, st.Awaiting, "linus has not seen this call")
	code, st = vote(t, hub, id, token["linus"], approval())
	require.Equal(t, "stale", code)
	require.JSONEq(t, `{"command":"rm -r build/old"}`, string(st.Edited.Arguments), "a refusal has the current status")
	yes := approval()
	yes.Revision = st.Revision
	code, _ = vote(t, hub, id, token["linus"], yes)
	require.Empty(t, code)

	d := <-decided
	require.True(t, d.Approved())
	require.True(t, d.Edited)
	require.JSONEq(t, `{"command":"rm -r build/old"}`, string(d.Arguments))
	require.Equal(t, schema.ByQuorum, d.Source)
	require.Equal(t, "Only the old ones.", d.Votes[0].Comment)
	require.Equal(t, []string{"grace"}, d.Awaiting)
	require.Equal(t, "linus", d.RespondedBy.Name)
	code, _ = vote(t, hub, id, token["grace"], denial())
	require.Equal(t, "decided", code)
}

// TestQuorum_SurvivesRestart: votes from before a restart count. If all have voted without
// agreement, the agent gets that outcome.
func TestQuorum_SurvivesRestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hub.db")
	token := createPeople(t, file, "ada", "grace")
	hub := hubtest.Start(t, hubtest.DB(file))
	id, decided := askQuestion(t, hub, &schema.HumanInTheLoop{Question: "Deploy?", Type: schema.Permission, RequiredApprovals: 2})
	code, _ := vote(t, hub, id, token["ada"], approval())
	require.Empty(t, code)
	hub.Stop()
	hub.Restart()
	code, st := vote(t, hub, id, token["grace"], denial())
	require.Empty(t, code)
	require.Equal(t, schema.NoQuorum, st.Outcome)
	d := <-decided
	require.False(t, d.Approved() || d.Answered())
	require.Equal(t, schema.NoQuorum, d.Outcome)
	require.Len(t, d.Votes, 2)
	require.Contains(t, d.Guidance, "approve 1, deny 1")
}
