package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/redact"
	"github.com/hookback/hookback/server/internal/store"
)

const askNonce = "3f1bd9c2a7e84c56b0d1e2f3a4958671"

// sealedQuestion returns a posted question that takes a signed answer.
func sealedQuestion(members string) string {
	return fmt.Sprintf(`{"source_app":"a","session_id":"s","hook_event_type":"PermissionRequest","tool_name":"Bash","payload":{"n":1},"humanInTheLoop":{"question":"May I?",`+
		`"responseWebSocketUrl":"ws://127.0.0.1:50123/secret","protocolVersion":2,"nonce":%q,"requestSecret":%q,%s}}`, askNonce, ownSecret, members)
}

const bashCall = `"type":"permission","toolCall":{"name":"Bash","arguments":{"b":1,"command":"ls"},"editable":true},"context":{"commit":"8f14e45fceea167a5a36dedd4bea2543c1d2e3f4"}`

// statement returns the verified statement in the question's receipt.
func (h *testHub) statement(id schema.EventID) (s sign.Statement) {
	h.t.Helper()
	q, err := h.Store.Question(h.t.Context(), id)
	require.NoError(h.t, err)
	require.NotNil(h.t, q.Receipt)
	var envelope schema.Envelope
	require.NoError(h.t, json.Unmarshal(q.Receipt, &envelope))
	require.NoError(h.t, envelope.Verify(schema.StatementPayload, h.Store.Identity().Public()))
	require.NoError(h.t, json.Unmarshal(envelope.Payload, &s))

	entries, err := h.Store.Ledger(h.t.Context(), store.LedgerPage{QuestionID: id, Limit: 100})
	require.NoError(h.t, err)
	digest := sha256.Sum256(envelope.Payload)
	require.Contains(h.t, string(entries[len(entries)-1]), `"statement":"`+hex.EncodeToString(digest[:])+`"`, "the ledger names the statement")
	require.Contains(h.t, string(entries[len(entries)-1]), `"ask":"`+s.Digest(sign.AskSubject, "sha256")+`"`)
	return s
}

// Every resolution is signed, for exactly the question that was asked.
func TestSeal_CoversEveryResolution(t *testing.T) {
	t.Parallel()
	text, choice := "go on", "b"
	for name, c := range map[string]struct {
		members string
		end     func(h *testHub, id schema.EventID) error
		outcome schema.Outcome
		source  schema.EndedBy
		answer  string
	}{
		"approval": {bashCall, func(h *testHub, id schema.EventID) error {
			_, err := h.Respond(t.Context(), id, approval(), Caller{})
			return err
		}, schema.Approve, schema.ByHuman, `{"permission":true}`},
		"changed arguments": {bashCall, func(h *testHub, id schema.EventID) error {
			r := approval()
			r.ModifiedArguments, r.Reason, r.Comment = json.RawMessage(`{"command":"ls <x>"}`), "why", "note"
			_, err := h.Respond(t.Context(), id, r, Caller{})
			return err
		}, schema.Approve, schema.ByHuman, `{"permission":true,"modifiedArguments":{"command":"ls <x>"},"reason":"why","comment":"note"}`},
		"text": {`"type":"question"`, func(h *testHub, id schema.EventID) error {
			_, err := h.Respond(t.Context(), id, &schema.Response{Response: &text}, Caller{})
			return err
		}, schema.Answered, schema.ByHuman, `{"response":"go on"}`},
		"choice": {`"type":"choice","choices":["a","b"]`, func(h *testHub, id schema.EventID) error {
			_, err := h.Respond(t.Context(), id, &schema.Response{Choice: &choice}, Caller{})
			return err
		}, "b", schema.ByHuman, `{"choice":"b"}`},
		"timeout": {bashCall + `,"timeout":0.001`, func(h *testHub, id schema.EventID) error {
			h.startDeadlines()
			h.awaitSettled(id)
			return nil
		}, schema.Timeout, schema.ByTimeout, `{"permission":false}`},
		"cancellation": {bashCall, func(h *testHub, id schema.EventID) error {
			_, err := h.Cancel(t.Context(), id, schema.Cancel{Reason: "no"}, Caller{})
			return err
		}, schema.Cancelled, schema.ByCancel, `{"permission":false,"reason":"no"}`},
		"withdrawal": {bashCall, func(h *testHub, id schema.EventID) error {
			_, err := h.Cancel(t.Context(), id, schema.Cancel{RequestSecret: ownSecret}, Caller{})
			return err
		}, schema.Withdrawn, schema.ByAgent, `{"permission":false}`},
		"end of the session": {bashCall, func(h *testHub, id schema.EventID) error {
			h.post(strings.Replace(plainEvent, `"Stop"`, `"SessionEnd"`, 1))
			return nil
		}, schema.Cancelled, schema.BySessionEnd, `{"permission":false}`},
		"agent gone": {bashCall, func(h *testHub, id schema.EventID) error {
			return h.Abandon(t.Context(), id, "ws://127.0.0.1:50123/secret", ReasonAgentGone)
		}, schema.Cancelled, schema.ByOrphaned, `{"permission":false,"reason":"the agent is gone"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTestHub(t)
			body := sealedQuestion(c.members)
			id := h.post(body).ID
			require.NoError(t, c.end(h, id))
			s := h.statement(id)
			ask, err := sign.AskDigest([]byte(body))
			require.NoError(t, err)
			require.Equal(t, hex.EncodeToString(ask[:]), s.Digest(sign.AskSubject, "sha256"))
			if strings.HasPrefix(c.members, bashCall) {
				call := sign.CallDigest("Bash", []byte(`{"command":"ls","b":1}`))
				require.Equal(t, hex.EncodeToString(call[:]), s.Digest(sign.CallSubject, "sha256"))
				require.Equal(t, "8f14e45fceea167a5a36dedd4bea2543c1d2e3f4", s.Digest(sign.CommitSubject, "gitCommit"))
			} else {
				require.Len(t, s.Subject, 2)
			}
			text := sha256.Sum256([]byte("May I?"))
			require.Equal(t, hex.EncodeToString(text[:]), s.Digest(sign.QuestionSubject, "sha256"))
			p, st := s.Predicate, h.status(id)
			require.Equal(t, []any{sign.StatementType, sign.DecisionType}, []any{s.Type, s.PredicateType})
			require.Equal(t, []any{c.outcome, c.source, st.RespondedAt, st.Response.AnswerID, st.Response.Guidance},
				[]any{p.Outcome, p.Source, p.RespondedAt, p.AnswerID, p.Guidance})
			require.Equal(t, []any{h.Store.HubID(), h.uid(id), id, "a", "s", "Bash"}, []any{p.Hub, p.Event, p.EventID, p.App, p.Session, p.Tool})
			answer, err := json.Marshal(p.Answer)
			require.NoError(t, err)
			require.JSONEq(t, c.answer, string(answer))
		})
	}
}

func TestSeal_CoversVotesAndRules(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPeople(t))
	h.setPeople("ada", "grace", "kay")
	quorum := bashCall + `,"requiredApprovals":2,"recipients":{"mode":"selected_members","members":["ada","grace"]}`
	id := h.post(sealedQuestion(quorum)).ID
	h.mustVote(id, "ada", approval())
	h.mustVote(id, "grace", approval())
	p := h.statement(id).Predicate
	require.Equal(t, []any{schema.Approve, schema.ByQuorum, 2, 2}, []any{p.Outcome, p.Source, p.RequiredApprovals, len(p.Votes)})

	id = h.post(sealedQuestion(quorum)).ID
	h.mustVote(id, "ada", approval())
	h.mustVote(id, "grace", denial())
	require.Equal(t, schema.NoQuorum, h.statement(id).Predicate.Outcome)

	h.makeRule("allow")
	id = h.post(bashRequest("s", "npm test x", `"nonce":"`+askNonce+`"`)).ID
	p = h.statement(id).Predicate
	require.Equal(t, []any{schema.Approve, schema.ByRule}, []any{p.Outcome, p.Source})
	require.NotNil(t, p.Rule)
}

// The text is the one that people saw: redaction removed the secret from it.
func TestSeal_CoversQuestionTextAfterRedaction(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(c *Config) { c.Redactor = redact.New() })
	id := h.post(strings.Replace(sealedQuestion(bashCall), "May I?", "Use ghp_abcdefghijklmnopqrstuvwxyz0123456789?", 1)).ID
	_, err := h.Respond(t.Context(), id, approval(), Caller{})
	require.NoError(t, err)
	raw, err := h.query.Receipt(t.Context(), id)
	require.NoError(t, err)
	var got sign.Receipt
	require.NoError(t, json.Unmarshal(raw, &got))
	require.True(t, strings.HasPrefix(got.Question, "Use [redacted:"), got.Question)
	sum, s := sha256.Sum256([]byte(got.Question)), h.statement(id)
	require.Equal(t, hex.EncodeToString(sum[:]), s.Digest(sign.QuestionSubject, "sha256"))
}

func TestSeal_NamesRequester(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPeople(t))
	own := ada
	own.Via, own.ID = "token", "t_2"
	ask := []byte(eventWith(`"humanInTheLoop":{"question":"q","type":"permission","excludeRequester":false}`))
	for want, by := range map[string]auth.Identity{"": {}, "agent:build": bot, "ada": own} {
		saved, err := h.Ingest(t.Context(), ask, Caller{Identity: by})
		require.NoError(t, err)
		_, err = h.Respond(t.Context(), saved.ID, approval(), Caller{Identity: ada})
		require.NoError(t, err)
		require.Equal(t, want, h.statement(saved.ID).Predicate.Requester)
	}
}

// An answer in its undo window has no signature yet: it may still be undone.
func TestSeal_IsMadeWhenUndoWindowEnds(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	id := h.post(sealedQuestion(bashCall)).ID
	h.respond(id, withHold(approval(), 5*time.Second))
	q, err := h.Store.Question(t.Context(), id)
	require.NoError(t, err)
	require.NotNil(t, q.UndoWindow)
	require.Nil(t, q.Receipt)
	clock.advance(6 * time.Second)
	h.runDue()
	require.Equal(t, schema.Approve, h.statement(id).Predicate.Outcome)
}

// Each duplicate gets its own statement about its own question.
func TestSeal_CoversEachDuplicate(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	first := h.post(sealedQuestion(bashCall)).ID
	second := h.post(strings.Replace(sealedQuestion(bashCall), askNonce, strings.Repeat("x", 32), 1)).ID
	r := approval()
	r.Revision = h.status(first).Revision
	_, err := h.Respond(t.Context(), first, r, Caller{})
	require.NoError(t, err)
	one, two := h.statement(first), h.statement(second)
	require.NotEqual(t, one.Digest(sign.AskSubject, "sha256"), two.Digest(sign.AskSubject, "sha256"))
	require.Equal(t, []schema.EventID{first, second}, []schema.EventID{one.Predicate.EventID, two.Predicate.EventID})
}

// The digest is that of the bytes that the agent sent. Without a nonce it must not let a reader
// guess what redaction removed.
func TestSeal_DigestCoversQuestionBeforeRedaction(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(c *Config) { c.Redactor = redact.New() })
	secret := `"type":"permission","toolCall":{"name":"Bash","arguments":{"command":"curl -H 'Authorization: Bearer ghp_abcdefghijklmnopqrstuvwxyz0123456789'"}}`
	for _, body := range []string{sealedQuestion(secret), strings.Replace(sealedQuestion(secret), `"nonce"`, `"unknown"`, 1)} {
		id := h.post(body).ID
		raw, err := h.query.Event(t.Context(), id)
		require.NoError(t, err)
		require.NotContains(t, string(raw), "ghp_")
		_, err = h.Respond(t.Context(), id, approval(), Caller{})
		require.NoError(t, err)
		s := h.statement(id)
		ask, err := sign.AskDigest([]byte(body))
		require.NoError(t, err)
		require.Equal(t, strings.Contains(body, "nonce"), hex.EncodeToString(ask[:]) == s.Digest(sign.AskSubject, "sha256"))
		require.Empty(t, s.Digest(sign.CallSubject, "sha256"), "a digest of the call would let readers test guesses")
	}
}

// The seal goes to the agent only, if it asked for one. Nothing else carries it.
func TestSeal_ReachesAgentOnly(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	sealed := sealedQuestion(bashCall)
	withoutNonce := strings.Replace(sealed, `"nonce":"`+askNonce+`",`, "", 1)
	versionOne := strings.Replace(sealed, `"protocolVersion":2,`, "", 1)
	for i, body := range []string{sealed, withoutNonce, versionOne} {
		id := h.post(body).ID
		_, err := h.Respond(t.Context(), id, approval(), Caller{})
		require.NoError(t, err)
		public, err := h.Pull(t.Context(), id, PullOptions{})
		require.NoError(t, err)
		require.NotContains(t, string(public), `"seal"`, "without the request secret")
		q, err := h.Store.Question(t.Context(), id)
		require.NoError(t, err)
		own, err := h.Pull(t.Context(), id, PullOptions{Secret: ownSecret})
		require.NoError(t, err)
		var a schema.Answer
		require.NoError(t, json.Unmarshal(own, &a))
		if i > 0 {
			require.Nil(t, a.Seal)
			continue
		}
		require.NoError(t, a.Seal.Verify(schema.StatementPayload, h.Store.Identity().Public()))
		envelope, err := json.Marshal(a.Seal)
		require.NoError(t, err)
		require.Equal(t, string(q.Receipt), string(envelope))
	}

	var views []string
	add := func(b []byte, err error) {
		t.Helper()
		require.NoError(t, err)
		views = append(views, string(b))
	}
	add(h.query.Event(t.Context(), 1))
	add(h.query.Recent(t.Context(), 100, query.Complete))
	add(h.query.FindEvents(t.Context(), store.Filter{Limit: 100}, query.Complete))
	add(h.query.Context(t.Context(), 1))
	_, initial, err := h.query.InitialMessage(t.Context())
	add(initial, err)
	frames, _, err := h.query.FramesAfter(t.Context(), 0)
	require.NoError(t, err)
	for _, f := range frames {
		views = append(views, string(f.Data), string(f.End))
	}
	page, err := h.query.Requests(t.Context(), query.InboxQuery{InboxFilter: store.InboxFilter{Limit: 10}}, auth.Identity{})
	require.NoError(t, err)
	b, err := json.Marshal(page)
	add(b, err)
	for _, view := range views {
		for _, secret := range []string{askNonce, ownSecret, `"seal"`, `"payloadType"`, `"signatures"`} {
			require.NotContains(t, view, secret)
		}
	}
}
