package hub

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/sqlite"
)

func init() {
	// Few enough for make test; -rapid.checks=2000 searches longer.
	_ = flag.Set("rapid.checks", "8")
	_ = flag.Set("rapid.steps", "100")
	_ = flag.Set("rapid.nofailfile", "true")
}

// machine is a hub with random input, and the expected state of its questions.
type machine struct {
	*Hub
	dir         string
	generation  int
	clockOffset time.Duration // sum of all clock steps
	elapsedTime time.Duration
	questions   map[schema.EventID]*questionRecord
	ids         []schema.EventID
	readSeq     int64 // last row of the log that was read
}

// questionRecord is the expected state of a question.
type questionRecord struct {
	secret     string
	question   schema.HumanInTheLoop
	recipients []string
	requester  string
	// accepted answers, such as "ada approve" -> the arguments of the call each time
	answers     map[string][]string
	edits       map[int64]string // revision -> the arguments since then
	revision    int64
	expires     schema.Millis
	resolutions int // resolutions in the log
	v1Messages  int // messages of version 1 streams
	outcome     schema.Outcome
	final       *schema.Status
}

var testUsers = []string{"ada", "grace", "linus", "op-kay"}

var machineStart = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// newTemplateDatabase returns the path of a database with the test users. Opening a copy
// is faster than making one for each run.
func newTemplateDatabase(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "template.db")
	h := openTestHub(t, path)
	h.setPeople(testUsers...)
	require.NoError(t, h.Store.(store.Store).Close())
	return path
}

func newMachine(t *rapid.T, dir, template string) *machine {
	m := &machine{dir: dir, questions: map[schema.EventID]*questionRecord{}}
	m.open(t, template)
	return m
}

// open starts a hub on a copy of the current files of a database.
func (m *machine) open(t *rapid.T, from string) {
	m.generation++
	path := filepath.Join(m.dir, fmt.Sprintf("hub%d.db", m.generation))
	for _, suffix := range []string{"", "-wal", ".key"} {
		require.NoError(t, copyFile(path+suffix, from+suffix))
	}
	m.start(t, path)
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}

func (m *machine) start(t *rapid.T, path string) {
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, ReserveFileBytes: -1, Synchronous: "NORMAL", Clock: m.now})
	require.NoError(t, err)
	p, err := auth.Open(t.Context(), auth.Config{Store: s, Clock: m.now})
	require.NoError(t, err)
	m.Hub = New(Config{Store: s, Feed: feed.New(s.Head(), 64, 1<<20), People: p, Clock: m.now})
	var last time.Duration
	m.elapsed = func(time.Time, time.Time) time.Duration {
		d := m.elapsedTime - last
		last = m.elapsedTime
		return d
	}
	last = m.elapsedTime
}

func (m *machine) now() time.Time { return machineStart.Add(m.clockOffset + m.elapsedTime) }

func (m *machine) currentFile() string {
	return filepath.Join(m.dir, fmt.Sprintf("hub%d.db", m.generation))
}

// rarely draws true in about one of six cases.
func rarely(t *rapid.T, what string) bool {
	return rapid.SampledFrom([]bool{false, false, false, false, false, true}).Draw(t, what)
}

// pickQuestion draws one of the last two questions.
func (m *machine) pickQuestion(t *rapid.T) schema.EventID {
	if len(m.ids) == 0 {
		t.Skip("no question yet")
	}
	last := m.ids[max(0, len(m.ids)-2):]
	return rapid.SampledFrom(last).Draw(t, "question")
}

func (m *machine) status(t *rapid.T, id schema.EventID) schema.Status {
	q, err := m.Store.Question(t.Context(), id)
	require.NoError(t, err)
	return decodeStatus(t, q.Status)
}

func decodeStatus(t *rapid.T, raw []byte) (st schema.Status) {
	require.NoError(t, json.Unmarshal(raw, &st))
	return st
}

func (m *machine) as(t *rapid.T, name, via string) Caller {
	who, ok := m.People.IdentityOf(name, via)
	require.True(t, ok, name)
	return Caller{Identity: who}
}

func (m *machine) ask(t *rapid.T) {
	q := schema.HumanInTheLoop{
		Question: "May I?", Type: rapid.SampledFrom([]schema.Kind{schema.Permission, schema.Permission, schema.Permission, schema.Choice, schema.FreeText}).Draw(t, "kind"),
		RequiredApprovals: rapid.SampledFrom([]int{0, 2, 2, 3}).Draw(t, "approvals"),
	}
	timeout := float64(rapid.SampledFrom([]int{0, 5, 300, 300}).Draw(t, "timeout"))
	q.Timeout = &timeout
	switch q.Type {
	case schema.Choice:
		q.Choices = []string{"a", "b", "c"}
	case schema.Permission:
		q.ToolCall = &schema.ToolCall{Name: "Bash", Arguments: json.RawMessage(`{"n":0}`), Editable: !rarely(t, "as it is")}
	}
	switch mode := rapid.SampledFrom([]string{"", "", "", "anyone", "owner", "owner_admins", "selected_members"}).Draw(t, "recipients"); mode {
	case "":
	case "selected_members":
		q.Recipients = &schema.Recipients{Mode: mode, Members: rapid.SliceOfN(rapid.SampledFrom(append(testUsers, "mallory")), 0, 5).Draw(t, "members")}
	default:
		q.Recipients = &schema.Recipients{Mode: mode}
	}
	if rapid.Bool().Draw(t, "dialled") {
		q.ResponseWebSocketURL, q.ProtocolVersion = "ws://127.0.0.1:50123/secret", rapid.IntRange(1, 2).Draw(t, "version")
	}
	if rarely(t, "escalates") {
		q.EscalateAfterSeconds = 4
		q.EscalateTo = &schema.Recipients{Mode: "selected_members", Members: []string{"op-kay", "ada"}}
	}
	m.postQuestion(t, q)
}

// askDuplicate asks an earlier question again.
func (m *machine) askDuplicate(t *rapid.T) {
	m.postQuestion(t, m.questions[m.pickQuestion(t)].question)
}

func (m *machine) postQuestion(t *rapid.T, q schema.HumanInTheLoop) {
	rec := &questionRecord{question: q, answers: map[string][]string{}, edits: map[int64]string{}}
	var by Caller
	if rarely(t, "by a token") {
		rec.requester = rapid.SampledFrom(testUsers).Draw(t, "requester")
		by = m.as(t, rec.requester, "token")
	}
	question, err := json.Marshal(q)
	require.NoError(t, err)
	saved, err := m.Ingest(t.Context(), []byte(eventWith(`"humanInTheLoop":`+string(question))), by)
	if err != nil {
		require.ErrorIs(t, err, schema.ErrInvalid)
		return
	}
	m.ResponseSent(saved.ID)
	var e schema.Event
	require.NoError(t, json.Unmarshal(saved.JSON, &e))
	rec.secret, rec.recipients = e.RequestSecret, e.HumanInTheLoopStatus.Recipients
	require.LessOrEqual(t, q.RequiredApprovals, len(testUsers))
	if rec.recipients != nil {
		require.LessOrEqual(t, q.RequiredApprovals, len(rec.recipients), "too few recipients to decide")
		require.NotContains(t, rec.recipients, "mallory")
	}
	m.questions[saved.ID] = rec
	m.ids = append(m.ids, saved.ID)
}

func (m *machine) respond(t *rapid.T) {
	id := m.pickQuestion(t)
	rec, before := m.questions[id], m.status(t, id)
	r, said := rec.randomResponse(t)
	if r.Revision = before.Revision; rarely(t, "another revision") {
		r.Revision = rapid.Int64Range(0, before.Revision+1).Draw(t, "seen")
	}
	r.HoldMS = rapid.SampledFrom([]int64{0, 0, 0, 3000, 20000}).Draw(t, "hold")
	var by Caller
	who := append(slices.Clone(rec.recipients), rec.recipients...)
	name := rapid.SampledFrom(append(who, testUsers...)).Draw(t, "who")
	if anonymous := rarely(t, "anonymous"); anonymous {
		name = auth.LocalName
	} else {
		by = m.as(t, name, rapid.SampledFrom([]string{"session", "link", "token"}).Draw(t, "via"))
	}
	if _, err := m.Respond(t.Context(), id, r, by); err != nil {
		return
	}
	require.False(t, rec.requester != "" && name == rec.requester, "the requester answered")
	if isVoted(&before) {
		require.NotEqual(t, auth.LocalName, name)
		require.True(t, rec.recipients == nil || slices.Contains(rec.recipients, name), "%s has no vote", name)
	}
	said = name + " " + said
	rec.answers[said] = append(rec.answers[said], rec.argumentsOf(r))
	if st := m.status(t, id); st.Edited != nil {
		rec.edits[st.Edited.Revision] = string(st.Edited.Arguments)
	}
}

// argumentsOf returns the arguments that an answer is for: its own edit, or the arguments of
// the revision that its responder saw. Empty for a question without a call.
func (rec *questionRecord) argumentsOf(r *schema.Response) string {
	switch {
	case rec.question.ToolCall == nil:
		return ""
	case r.ModifiedArguments != nil:
		return string(r.ModifiedArguments)
	}
	seen := string(rec.question.ToolCall.Arguments)
	for _, revision := range slices.Sorted(maps.Keys(rec.edits)) {
		if revision <= r.Revision {
			seen = rec.edits[revision]
		}
	}
	return seen
}

func (rec *questionRecord) randomResponse(t *rapid.T) (r *schema.Response, said string) {
	r = &schema.Response{Comment: rapid.SampledFrom([]string{"", "", "Fine."}).Draw(t, "comment")}
	switch rec.question.Type {
	case schema.Choice:
		label := rapid.SampledFrom(rec.question.Choices).Draw(t, "choice")
		r.Choice = &label
	case schema.FreeText:
		text := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "text")
		r.Response = &text
	default:
		yes := !rarely(t, "no")
		r.Permission = &yes
		if yes && rec.question.ToolCall.Editable && rapid.Bool().Draw(t, "edits") {
			r.ModifiedArguments = json.RawMessage(fmt.Sprintf(`{"n":%d}`, rapid.IntRange(0, 2).Draw(t, "n")))
		}
	}
	return r, string(rec.question.Outcome(r))
}

func (m *machine) undo(t *rapid.T) {
	if len(m.ids) == 0 || m.status(t, m.ids[len(m.ids)-1]).Held == nil && rapid.Bool().Draw(t, "anyway") {
		return
	}
	_, _ = m.Undo(t.Context(), m.pickQuestion(t), m.as(t, rapid.SampledFrom(testUsers).Draw(t, "who"), "session"))
}

func (m *machine) cancel(t *rapid.T) {
	if !rarely(t, "really") {
		return // or nothing would be left to vote on
	}
	id := m.pickQuestion(t)
	c := schema.Cancel{Reason: "Never mind."}
	if rapid.Bool().Draw(t, "withdraw") {
		c.RequestSecret = m.questions[id].secret
	}
	_, _ = m.Cancel(t.Context(), id, c, Caller{})
}

// extend gives a question more time or removes its deadline.
func (m *machine) extend(t *rapid.T) {
	id := m.pickQuestion(t)
	before := m.status(t, id)
	x := schema.Extend{Seconds: float64(rapid.SampledFrom([]int{0, 5, 60}).Draw(t, "seconds"))}
	if _, err := m.Extend(t.Context(), id, &x, m.as(t, "ada", "session")); err != nil {
		return
	}
	require.Equal(t, schema.Pending, before.Status)
	require.False(t, m.questions[id].question.ResponseWebSocketURL != "" && m.questions[id].question.ProtocolVersion < 2, "a version 1 agent has its own timer")
	if x.Seconds == 0 {
		require.Zero(t, m.status(t, id).ExpiresAt)
		for other, rec := range m.questions { // duplicates are extended with their leader
			if other == id || rec.final == nil && m.status(t, other).SameAs == id {
				rec.expires = 0
			}
		}
	}
}

func (m *machine) pull(t *rapid.T) {
	id := m.pickQuestion(t)
	_, _ = m.Pull(t.Context(), id, PullOptions{Secret: m.questions[id].secret})
}

func (m *machine) advance(t *rapid.T) {
	m.elapsedTime += time.Duration(rapid.SampledFrom([]int{1, 900, 900, 3000, 3000, 20_000}).Draw(t, "ms")) * time.Millisecond
	m.runDue(t)
}

// runDue does the work of the deadline loop until nothing is due.
func (m *machine) runDue(t *rapid.T) {
	m.detectClockStep(t.Context())
	for more := true; more; {
		var err error
		more, _, err = m.expireDue(t.Context())
		require.NoError(t, err)
	}
}

// stepClock sets the wall clock forward or back, which changes no question's remaining time.
func (m *machine) stepClock(t *rapid.T) {
	step := time.Duration(rapid.SampledFrom([]int{-7200, -60, 60, 7200}).Draw(t, "seconds")) * time.Second
	m.clockOffset += step
	m.runDue(t)
	for _, rec := range m.questions {
		if rec.expires != 0 && rec.final == nil {
			rec.expires += schema.Millis(step.Milliseconds())
		}
	}
}

func (m *machine) endSession(t *rapid.T) {
	if !rarely(t, "really") {
		return // or nothing would be left to vote on
	}
	_, err := m.Ingest(t.Context(), []byte(strings.Replace(eventWith(`"summary":"bye"`), "PreToolUse", sessionEndEvent, 1)), Caller{})
	require.NoError(t, err)
}

func (m *machine) abandon(t *rapid.T) {
	if !rarely(t, "really") {
		return // or nothing would be left to vote on
	}
	id := m.pickQuestion(t)
	require.NoError(t, m.Abandon(t.Context(), id, m.questions[id].question.ResponseWebSocketURL, ReasonAgentGone))
}

// restart stops the hub and starts it again.
func (m *machine) restart(t *rapid.T) {
	if !rarely(t, "really") {
		return // it takes a hundred times longer than a vote
	}
	require.NoError(t, m.Store.(store.Store).Close())
	m.start(t, m.currentFile())
	m.runDue(t)
}

// crash starts a hub on a copy of the files of the running one.
func (m *machine) crash(t *rapid.T) {
	if !rarely(t, "really") {
		return
	}
	old := m.Hub
	m.open(t, m.currentFile())
	require.NoError(t, old.Store.(store.Store).Close())
	m.runDue(t)
}

// TestStateMachine_KeepsInvariants drives a hub with random actions of people and agents,
// clock steps, restarts and crashes, and checks the invariants after each.
func TestStateMachine_KeepsInvariants(t *testing.T) {
	t.Parallel()
	template := newTemplateDatabase(t)
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "") //nolint:usetesting // each run removes its own
		require.NoError(rt, err)
		m := newMachine(rt, dir, template)
		defer func() {
			require.NoError(rt, m.Store.(store.Store).Close())
			require.NoError(rt, os.RemoveAll(dir))
		}()
		m.ask(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { m.checkInvariants(t, false) }, "ask": m.ask, "ask again": m.askDuplicate, "respond": m.respond, "respond 2": m.respond, "respond 3": m.respond, "respond 4": m.respond, "respond 5": m.respond, "undo": m.undo, "cancel": m.cancel, "extend": m.extend,
			"pull": m.pull, "wait": m.advance, "jump": m.stepClock, "end the session": m.endSession, "abandon": m.abandon, "restart": m.restart, "crash": m.crash,
		})
		m.checkInvariants(rt, true)
		m.checkLedger(rt)
	})
}
