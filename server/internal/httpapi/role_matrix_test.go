package httpapi

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/schema/routes"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/netguard"
	"github.com/hookback/hookback/server/internal/notify"
	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// roleTable is the table of classes in server/docs/guide/people.md: class → column → cell.
type roleTable map[schema.Access]map[string]string

func readRoleTable(t *testing.T) roleTable {
	t.Helper()
	text, err := os.ReadFile("../../docs/guide/people.md")
	require.NoError(t, err)
	table, columns := roleTable{}, []string(nil)
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case cells[0] == "Class":
			columns = cells
		case len(cells) != len(columns):
			columns = nil
		case slices.Contains(schema.Accesses, schema.Access(cells[0])):
			row := map[string]string{}
			for i, cell := range cells {
				row[columns[i]] = cell
			}
			table[schema.Access(cells[0])] = row
		}
	}
	require.Len(t, table, len(schema.Accesses), "every class has a row")
	return table
}

// matrixCaller is a column of the golden matrix. Its credentials are valid in both states of
// the hub.
type matrixCaller struct {
	name string
	// column is the column of the documented table that applies; empty: the caller is refused
	// everywhere except for the class public.
	column string
	person string // the account behind the credentials
	// token is set if the credentials are a token; bound, if it is for the application demo only.
	token, bound bool
	headers      []string
	from         string       // address that the request comes from; empty: this test's
	client       *http.Client // nil: the harness's, over TCP
}

// matrix is a hub with one account, one browser and one token of each kind.
type matrix struct {
	*harness
	table   roleTable
	db      *sql.DB // reads only, to notice commits
	callers []matrixCaller
	admin   browser
	locked  bool

	accounts int // created so far
}

func newMatrix(t *testing.T, locked bool) *matrix {
	guard, err := netguard.New(netguard.Config{Allow: []string{"127.0.0.1"}})
	require.NoError(t, err)
	now := time.Now() // does not advance: the audit log records one refused token per minute
	r := setupPeople(t, func(c *auth.Config) {
		c.Clock = func() time.Time { return now }
	}, func(cfg *Config) { // without its workers, which write to the database
		cfg.MCP = mcpFunc(stubMCP)
		cfg.Notifier = notify.New(notify.Config{
			Store: cfg.Hub.Store.(store.Store), Base: "https://hub.example.com", Guard: guard, Feed: cfg.Hub.Feed, Accounts: cfg.Hub.People,
		})
	})
	r.Hub.PendingLimits = hub.PendingLimits{Session: 1 << 20, Owner: 1 << 20, Hub: 1 << 20} // each cell asks
	m := &matrix{harness: r, table: readRoleTable(t), locked: locked}
	m.admin = r.owner("olga")
	r.expectOK(nil, "POST "+schema.PathLock, fmt.Sprintf(`{"locked":%t}`, locked), m.admin.headers()...)
	vera := r.addPerson(m.admin, `{"name":"vera","role":"viewer"}`)
	oscar := r.addPerson(m.admin, `{"name":"oscar"}`)
	ada := r.addPerson(m.admin, `{"name":"ada","role":"admin"}`)
	own := func(b browser, name string) []string {
		_, headers := r.createToken(b, `{"name":"own","person":"`+name+`"}`)
		return headers
	}
	stopProjector := r.runProjector()
	r.post(event(0)) // the session of the share links
	_, agent := r.createToken(m.admin, `{"name":"build"}`)
	_, bound := r.createToken(m.admin, `{"name":"demo","apps":["demo"]}`)
	tcpClient := r.client
	r.useSocket()
	socketClient := r.client
	r.client = tcpClient
	json := []string{"Content-Type", "application/json"}
	with := func(headers ...string) []string { return append(headers, json...) }
	local := map[bool]string{false: "Local, open", true: "Local, locked"}[locked]
	m.callers = []matrixCaller{
		{name: "local", column: local, headers: json},
		{name: "socket", column: local, headers: json, client: socketClient},
		{name: "unknown owner", headers: json, from: "127.0.0.1"}, // no program has this socket
		{name: "remote", headers: json, from: "203.0.113.7"},
		{name: "behind a proxy", headers: with("X-Forwarded-For", "203.0.113.7")},
		{name: "bad token", headers: with("Authorization", "Bearer hubop_nonsense")},
		{name: "basic", headers: with("Authorization", "Basic b2xnYTpvbGdh")},
		{name: "cookie only", headers: with("Cookie", m.admin.cookie)},
		{name: "wrong key", headers: with("Cookie", m.admin.cookie, schema.KeyHeader, vera.key)},
		{name: "signed link", headers: with("Authorization", "Bearer eyJwIjoib2xnYSJ9.c2lnbmF0dXJl")},
		{name: "agent token", column: "Agent token", token: true, headers: agent},
		{name: "bound agent token", column: "Agent token", token: true, bound: true, headers: bound},
		{name: "viewer", column: "Viewer", person: "vera", headers: vera.headers()},
		{name: "operator", column: "Operator", person: "oscar", headers: oscar.headers()},
		{name: "operator token", column: "Operator", person: "oscar", token: true, headers: own(oscar, "oscar")},
		{name: "admin", column: "Admin", person: "ada", headers: ada.headers()},
		{name: "admin token", column: "Admin", person: "ada", token: true, headers: own(ada, "ada")},
		{name: "owner", column: "Admin", person: "olga", headers: m.admin.headers()},
		{name: shareCaller, headers: with(control.ShareHeader, r.share(oscar, `{"source_app":"demo","session_id":"s1"}`))},
		{name: "share link of an owner", headers: append(m.admin.headers(), control.ShareHeader, r.share(oscar, `{"source_app":"demo","session_id":"s1"}`))},
	}
	stopProjector() // it writes to the database
	m.db = storetest.OpenSQL(t, r.dbFile)
	m.db.SetMaxOpenConns(1)       // data_version belongs to a connection
	for _, c := range m.callers { // the first refused token of a network is written to the audit log
		m.send(c, routes.Route{Method: "GET", Path: schema.PathRecent}, schema.PathRecent, "")
	}
	return m
}

func stubMCP(_ context.Context, _ hub.Caller) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{}`)) })
}

// request returns a valid path and body of a route for a caller, about objects that exist.
func (m *matrix) request(c matrixCaller, route routes.Route) (path, body string) {
	m.t.Helper()
	person := c.person
	if person == "" {
		person = "vera"
	}
	question := m.post(event(1, permission))
	id, name := question.ID.String(), person
	switch route.Path {
	case schema.PathRule, schema.PathRules, schema.PathRulePreview:
		id = m.post(commandQuestion("npm test")).ID.String()
	case schema.PathChannel, schema.PathTestChannel, schema.PathChannelFilter:
		id = m.addChannel()
	case schema.PathPerson, schema.PathPersonReset:
		name = m.addAccount()
	case schema.PathSignInByID:
		id = m.newSession(person).Identity.ID
	case schema.PathToken:
		id = m.newToken(person)
	case control.PathShare:
		id = m.newShare()
	}
	if route.Path == schema.PathRule {
		id = m.addRule(id)
	}
	fill := strings.NewReplacer(":id", id, ":name", name, "ID", id, "NAME", name, "SECRET", question.RequestSecret)
	path, body = fill.Replace(route.Path), fill.Replace(matrixBodies[strings.TrimPrefix(route.Path, inbox.PathAuthenticated)])
	switch route.Path {
	case schema.PathPeople:
		body = `{"name":"p` + id + `"}`
	case schema.PathLock:
		body = fmt.Sprintf(`{"locked":%t}`, m.locked)
	case schema.PathSignIn:
		code, err := m.people.RecoverAccess(m.t.Context(), "vera")
		require.NoError(m.t, err)
		body = `{"code":"` + code + `"}`
	}
	if slices.Contains(appScopedRoutes, route.Path) && route.Method+route.Path != "POST"+control.PathMessages || route.Path == control.PathWait {
		path += "?source_app=demo"
		if route.Path == schema.PathSession || route.Path == schema.PathExport ||
			route.Path == history.PathSessionFiles || strings.HasPrefix(c.name, shareCaller) {
			path += "&session_id=s1"
		}
	}
	return path, body
}

// shareCaller is the caller with the secret of a share link. shareRoutes are all routes that it opens.
const shareCaller = "share link"

var shareRoutes = []string{
	"GET " + control.PathShared, "GET " + schema.PathSession, "GET " + history.PathSessionFiles, "GET " + schema.PathEvents, "GET " + schema.PathEvent,
}

// matrixBodies are valid bodies by path. ID, NAME and SECRET stand for the question or object,
// the caller and the request secret.
var matrixBodies = map[string]string{
	schema.PathEvents:           `{"source_app":"demo","session_id":"s1","hook_event_type":"Stop","payload":{}}`,
	schema.PathBatch:            `[{"source_app":"demo","session_id":"s1","hook_event_type":"Stop","payload":{}}]`,
	schema.PathOTLPLogs:         `{}`,
	schema.PathOTLPMetrics:      `{}`,
	schema.PathOTLPTraces:       `{}`,
	schema.PathClaudeCode:       `{"hook_event_name":"Stop","session_id":"s1","cwd":"/home/dev/demo"}`,
	schema.PathAsk:              `{"question":"Go?","source_app":"demo"}`,
	schema.PathMCP:              `{}`,
	schema.PathRespond:          `{"permission":true}`,
	schema.PathApprove:          `{"requests":[{"id":ID,"revision":1}]}`,
	schema.PathCancel:           `{}`,
	schema.PathExtend:           `{"seconds":60}`,
	schema.PathExecution:        `{"requestSecret":"SECRET","state":"succeeded"}`,
	inbox.PathHitlVote:          `{"choice":"approve"}`,
	inbox.PathHitlCancel:        `{}`,
	inbox.PathApproveCall:       `{}`,
	inbox.PathRejectCall:        `{}`,
	inbox.PathAgentApprove:      `{"approvalId":"ID","approved":true}`,
	control.PathShares:          `{"source_app":"demo","session_id":"s1"}`,
	control.PathReach:           `{"publicUrl":"http://localhost:4000"}`,
	control.PathSafety:          `{"equalFailures":5}`,
	control.PathRequestDefaults: `{"defaults":[]}`,
	control.PathAlertRules:      `{"kind":"stuck"}`,
	control.PathAlertRule:       `{"kind":"stuck"}`,
	control.PathMessages:        `{"source_app":"demo","session_id":"s1","text":"Hi"}`,
	schema.PathRules:            `{"from":ID,"then":"deny","scope":"call","reach":"session"}`,
	schema.PathRulePreview:      `{"from":ID,"then":"deny","scope":"call","reach":"session"}`,
	history.PathReplay:          `{"policy":"{\"rules\":[]}"}`,
	schema.PathPerson:           `{"role":"operator"}`,
	schema.PathTokens:           `{"name":"more","person":"NAME"}`,
	schema.PathPasskeyConfirm:   `{"do":"link","target":"NAME"}`,
	schema.PathPasskeyChallenge: `{"id":ID,"response":{"permission":true}}`,
	schema.PathPasskeys:         `{"name":"laptop","credential":{}}`,
	schema.PathChannels:         `{"name":"c","url":"http://127.0.0.1:9/"}`,
	schema.PathMyNotifications:  `{}`,
	schema.PathPush:             `{"endpoint":"https://push.example.com/ID","keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}`,
	schema.PathLink:             `{"token":"eyJwIjoib2xnYSJ9.c2lnbmF0dXJl"}`,
	schema.PathLinkVote:         `{"token":"eyJwIjoib2xnYSJ9.c2lnbmF0dXJl","permission":true}`,
}

// refusedByHandler are routes that refuse these requests for a reason other than their class.
var refusedByHandler = map[string]string{
	control.PathShared:  "the request has no share link",
	control.PathShares:  "a share link takes an operator",
	control.PathShare:   "only the author and admins revoke a share link",
	schema.PathLink:     "the link is not signed by this hub",
	schema.PathLinkVote: "the link is not signed by this hub",

	schema.PathPasskeyChallenge: "a challenge for an answer takes an operator",
	control.PathFreeze:          "lifting takes a person once the hub has an owner",
}

func (m *matrix) identity(person string) auth.Identity {
	id, known := m.people.IdentityOf(person, "session")
	require.True(m.t, known)
	return id
}

func (m *matrix) newSession(person string) *auth.Session {
	code, err := m.people.RecoverAccess(m.t.Context(), person)
	require.NoError(m.t, err)
	session, err := m.people.SignIn(m.t.Context(), auth.SignInAttempt{Code: code})
	require.NoError(m.t, err)
	return session
}

func (m *matrix) newToken(person string) string {
	token, err := m.people.CreateToken(m.t.Context(), schema.TokenDraft{Name: "t", Person: person}, m.identity(person))
	require.NoError(m.t, err)
	return token.ID
}

// newShare returns the id of a share link of the owner.
func (m *matrix) newShare() string {
	link, _, err := m.Shares.Create(m.t.Context(), control.ShareDraft{SourceApp: "demo", SessionID: "s1"}, m.identity("olga"))
	require.NoError(m.t, err)
	return link.ID
}

func (m *matrix) addAccount() string {
	m.accounts++
	name := fmt.Sprintf("account %d", m.accounts)
	_, _, err := m.people.AddPerson(m.t.Context(), schema.PersonDraft{Name: name}, m.identity("olga"))
	require.NoError(m.t, err)
	return name
}

// addChannel returns the id of a channel, which the previous cell may have removed.
func (m *matrix) addChannel() string {
	list, err := m.store.Channels(m.t.Context())
	require.NoError(m.t, err)
	if len(list) == 0 {
		m.expectOK(nil, "POST "+schema.PathChannels, matrixBodies[schema.PathChannels], m.admin.headers()...)
		list, err = m.store.Channels(m.t.Context())
		require.NoError(m.t, err)
	}
	return fmt.Sprint(list[0].ID)
}

func (m *matrix) addRule(from string) string {
	var rule schema.Rule
	m.expectOK(&rule, "POST "+schema.PathRules, strings.ReplaceAll(matrixBodies[schema.PathRules], "ID", from), m.admin.headers()...)
	return fmt.Sprint(rule.ID)
}

// send sends a request of the caller and returns its status.
func (m *matrix) send(c matrixCaller, route routes.Route, path, body string) (int, string) {
	headers := c.headers
	if route.Path == schema.PathSignOut && c.person != "" && !c.token {
		session := m.newSession(c.person) // ends with this request
		headers = []string{"Cookie", "hookback-" + m.port + "=" + session.Cookie, schema.KeyHeader, session.Key}
	}
	if c.client != nil {
		defer func(tcp *http.Client) { m.client = tcp }(m.client)
		m.client = c.client
	}
	if c.from != "" {
		m.setRemoteIP(c.from)
		defer func() { m.remoteAddr.Store(nil); m.client.CloseIdleConnections() }()
	}
	if route.Path == schema.PathAsk {
		headers = append(headers, "Prefer", "wait=0") // no one answers
	}
	resp, answer := m.do(route.Method, path, body, headers...)
	return resp.StatusCode, string(answer)
}

// expected returns the status of a refusal according to the documented table, or 0 if the
// caller has access.
func (m *matrix) expected(c matrixCaller, route routes.Route) int {
	column, session := c.column, !c.token
	switch {
	case strings.HasPrefix(c.name, shareCaller) && slices.Contains(shareRoutes, route.Method+" "+route.Path):
		return 0
	case strings.HasPrefix(c.name, shareCaller):
		return http.StatusForbidden // also if the request has credentials of the owner
	case c.name == "cookie only" && route.Method == http.MethodGet:
		column = "Admin" // the cookie permits reading
	case route.Path == schema.PathMe && len(c.headers) > 2 && column == "" && c.name != "behind a proxy":
		return http.StatusUnauthorized // it reports wrong credentials
	case route.Access == schema.AccessPublic:
		column = "Admin"
	}
	refused := http.StatusForbidden
	if column == "" || strings.HasPrefix(column, "Local") {
		refused = http.StatusUnauthorized
	}
	if column == "" || column == "Local, locked" && strings.HasPrefix(route.Path, inbox.PathAuthenticated) {
		return refused
	}
	switch cell := m.table[route.Access][column]; {
	case cell == "yes", cell == "signed in" && session:
		return 0
	case cell == "its apps" &&
		(!c.bound || route.Access == schema.AccessPost || strings.Contains(route.Path, ":id") || slices.Contains(appScopedRoutes, route.Path)):
		return 0
	case cell == "its apps", cell == "no", cell == "signed in":
		return refused
	default:
		require.Fail(m.t, "unknown cell", "%q of class %s", cell, route.Access)
		return 0
	}
}

// dataVersion changes with every commit to the database.
func (m *matrix) dataVersion() (version int64) {
	query := `PRAGMA data_version`
	if storetest.IsPostgres() {
		query = `SELECT commits FROM streams`
	}
	require.NoError(m.t, m.db.QueryRowContext(m.t.Context(), query).Scan(&version))
	return version
}

// TestRoleMatrix sends every caller's request to every route, on an open and on a locked hub.
// The documented table of classes decides who is refused. A refused request changes nothing.
// The golden file lists the status of every cell.
func TestRoleMatrix(t *testing.T) {
	t.Parallel()
	if !peer.KnowsOwners {
		t.Skip("this system does not name the owner of a TCP connection")
	}
	for name, locked := range map[string]bool{"open": false, "locked": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMatrix(t, locked)
			var golden strings.Builder
			for _, c := range m.callers {
				fmt.Fprintf(&golden, "# %s\n", c.name)
			}
			for _, route := range routes.All {
				fmt.Fprintf(&golden, "%-7s%-46s%-8s", route.Method, route.Path, route.Access)
				for _, c := range m.callers {
					fmt.Fprintf(&golden, " %d", m.checkCell(c, route))
				}
				golden.WriteString("\n")
			}
			file := "testdata/role-matrix-" + name + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(golden.String()), 0o600))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), golden.String())
		})
	}
}

func (m *matrix) checkCell(c matrixCaller, route routes.Route) int {
	m.t.Helper()
	path, body := m.request(c, route)
	before := m.dataVersion()
	status, answer := m.send(c, route, path, body)
	want := m.expected(c, route)
	switch {
	case want != 0:
		require.Equal(m.t, want, status, "%s: %s %s: %s", c.name, route.Method, path, answer)
		require.Equal(m.t, before, m.dataVersion(), "%s: %s %s changed the database", c.name, route.Method, path)
	case refusedByHandler[route.Path] == "":
		require.NotContains(m.t, []int{http.StatusUnauthorized, http.StatusForbidden}, status, "%s: %s %s: %s", c.name, route.Method, path, answer)
	}
	return status
}
