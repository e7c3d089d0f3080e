package httpapi

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/netguard"
	"github.com/hookback/hookback/server/internal/notify"
	"github.com/hookback/hookback/server/internal/store"
)

// withAddresses gives every account a mail address.
type withAddresses struct{ *auth.Service }

func (a withAddresses) Accounts(ctx context.Context) []schema.Person {
	persons := a.Service.Accounts(ctx)
	for i := range persons {
		persons[i].Email = persons[i].Name + "@example.com"
	}
	return persons
}

// setupNotifications returns a harness with a notifier. Every account has a mail address.
func setupNotifications(t *testing.T, change ...func(*auth.Config)) *harness {
	var notifier *notify.Notifier
	var h *hub.Hub
	all := func(c *auth.Config) {
		for _, fn := range change {
			fn(c)
		}
	}
	r := setupPeople(t, all, func(cfg *Config) {
		h = cfg.Hub
		guard, err := netguard.New(netguard.Config{Allow: []string{"127.0.0.1"}})
		require.NoError(t, err)
		notifier = notify.New(notify.Config{
			Store: h.Store.(store.Store), Feed: h.Feed, Guard: guard, Base: "https://hub.example.com", Accounts: withAddresses{h.People},
		})
		cfg.Notifier = notifier
	})
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = notifier.Run(ctx, h) })
	t.Cleanup(group.Wait)
	t.Cleanup(stop)
	return r
}

// mailbox is a mail server that passes on the text of each message about a request.
type mailbox chan string

func (p mailbox) NewSession(*smtp.Conn) (smtp.Session, error) { return p, nil }
func (p mailbox) Reset()                                      {}
func (p mailbox) Logout() error                               { return nil }
func (p mailbox) Mail(string, *smtp.MailOptions) error        { return nil }
func (p mailbox) Rcpt(string, *smtp.RcptOptions) error        { return nil }
func (p mailbox) Data(r io.Reader) error {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if !strings.Contains(string(text), "An account of your hub was changed") {
		p <- string(text)
	}
	return err
}

func startMailServer(t *testing.T) (box mailbox, addr string) {
	box = make(mailbox, 10)
	server := smtp.NewServer(box)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var group sync.WaitGroup
	group.Go(func() { _ = server.Serve(ln) })
	t.Cleanup(func() { _ = server.Close(); group.Wait() })
	return box, ln.Addr().String()
}

// TestSignedLink_AnswersFromMail answers from another machine on a locked hub without a
// sign-in.
func TestSignedLink_AnswersFromMail(t *testing.T) {
	t.Parallel()
	r := setupNotifications(t)
	box, addr := startMailServer(t)
	ada := r.owner("ada")
	r.expectOK(nil, "POST "+schema.PathLock, `{"locked":true}`, ada.headers()...)
	r.expectOK(nil, "POST "+schema.PathChannels, `{"name":"mail","url":"smtp://`+addr+`/?from=hub@example.com"}`, ada.headers()...)
	question := r.post(event(1, permission))
	found := regexp.MustCompile(`https://hub\.example\.com(/hitl/\d+/vote)#(\S+)`).FindStringSubmatch(<-box)
	require.NotNil(t, found)
	require.Equal(t, schema.At(schema.PathLinkVote, question.ID), found[1])
	token := found[2]

	r.setRemoteIP("192.0.2.7")
	look, vote := "POST "+schema.At(schema.PathLink, question.ID), "POST "+found[1]
	var linked schema.LinkPreview
	r.expectOK(&linked, look, `{"token":"`+token+`"}`)
	require.Equal(t, "ada", linked.Person)
	require.Equal(t, question.ID, linked.Event.ID)
	require.Equal(t, schema.Pending, linked.Event.HumanInTheLoopStatus.Status)
	for range 3 { // like a mail scanner
		resp, b := r.do("GET", found[1], "", "Accept", "text/html")
		require.Equal(t, 200, resp.StatusCode)
		require.Equal(t, indexHTML, string(b))
	}
	r.expectProblem("wrong_answer", vote, `{"token":"`+token+`","choice":"what?"}`)
	r.expectProblem("not_allowed", vote, `{"token":"`+token[:len(token)-2]+`","permission":true}`)
	r.expectProblem("sign_in", "POST "+schema.At(schema.PathRespond, question.ID), approveBody)
	var e schema.Event
	r.expectOK(&e, vote, `{"token":"`+token+`","permission":true,"comment":"from my phone"}`)
	by := e.HumanInTheLoopStatus.RespondedBy
	require.Equal(t, "ada", by.Name)
	require.Equal(t, "link", by.Via)
	require.True(t, by.Verified)
	require.Equal(t, "from my phone", e.HumanInTheLoopStatus.Response.Comment)
	p := r.expectProblem("not_allowed", vote, `{"token":"`+token+`","permission":true}`)
	require.Contains(t, p.Detail, "has been used")
	require.NotContains(t, r.log.String(), token)
}

func TestChannels_LockedHubRequiresAdmin(t *testing.T) {
	t.Parallel()
	r := setupNotifications(t)
	ada := r.owner("ada")
	channel := `{"name":"ops","url":"ntfy://ntfy.example.com/hidden"}`
	var made schema.Channel
	r.expectOK(&made, "POST "+schema.PathChannels, channel, ada.headers()...)
	require.Equal(t, "ada", made.CreatedBy)
	r.expectOK(nil, "POST "+schema.PathLock, `{"locked":true}`, ada.headers()...)
	for _, route := range []string{
		"POST " + schema.PathChannels, fmt.Sprintf("DELETE /api/channels/%d", made.ID), fmt.Sprintf("POST /api/channels/%d/test", made.ID),
		"POST " + schema.PathMyNotifications, "POST " + schema.PathPush,
	} {
		r.expectProblem("sign_in", route, channel)
	}
	var mine schema.NotificationSettings
	r.expectOK(&mine, "POST "+schema.PathMyNotifications, `{"cooldownMinutes":5}`, ada.headers()...)
	require.Equal(t, 5, mine.CooldownMinutes)
	r.expectOK(&mine, "POST "+schema.PathMyNotifications, `{"email":"ada@elsewhere.example"}`, ada.headers()...)
	require.Equal(t, "ada@elsewhere.example", mine.Email)
	p := r.expectProblem("invalid", "POST "+schema.PathMyNotifications, `{"email":"no address"}`, ada.headers()...)
	require.Equal(t, "email", p.Field)
	var list []json.RawMessage
	r.expectOK(&list, fmt.Sprintf("DELETE /api/channels/%d", made.ID), "", ada.headers()...)
	require.Empty(t, list)
}

// TestChannels_MailToEveryoneRequiresSignIn: a stolen token, even the owner's, does not
// redirect the signed links of others to a mail server of the thief.
func TestChannels_MailToEveryoneRequiresSignIn(t *testing.T) {
	t.Parallel()
	r := setupNotifications(t)
	_, addr := startMailServer(t)
	ada := r.owner("ada")
	_, owner := r.createToken(ada, `{"name":"laptop","person":"ada"}`)
	eve := r.addPerson(ada, `{"name":"eve","role":"admin"}`)
	_, admin := r.createToken(eve, `{"name":"laptop","person":"eve"}`)
	toEach := `{"name":"mail","url":"smtp://` + addr + `/?from=hub@example.com"}`
	for _, token := range [][]string{owner, admin} {
		r.expectProblem("not_allowed", "POST "+schema.PathChannels, toEach, token...)
		r.expectOK(nil, "POST "+schema.PathChannels, `{"name":"ops","url":"ntfy://ntfy.example.com/topic"}`, token...)
	}
	var channels []schema.Channel
	r.expectOK(&channels, "GET "+schema.PathChannels, "", ada.headers()...)
	require.Len(t, channels, 2)
	r.expectOK(nil, "POST "+schema.PathChannels, toEach, ada.headers()...)
}

// TestChannels_RefusePrivateAddresses adds channels that would make the hub connect to its own
// network.
func TestChannels_RefusePrivateAddresses(t *testing.T) {
	t.Parallel()
	r := setupNotifications(t)
	ada := r.owner("ada")
	for _, address := range []string{
		"http://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "http://[::1]:9/", "https://[::ffff:192.168.0.1]/", "http://2130706433/",
		"smtp://192.168.0.1:25/?from=hub@example.com", "ntfy://10.0.0.1/topic", "gotify://10.0.0.1/AAAAAAAAAAAAAAA",
	} {
		body, err := json.Marshal(schema.ChannelDraft{Name: "x", URL: address})
		require.NoError(t, err)
		problem := r.expectProblem("invalid", "POST "+schema.PathChannels, string(body), ada.headers()...)
		require.Equal(t, "url", problem.Field, address)
	}
	var channels []schema.Channel
	r.expectOK(&channels, "GET "+schema.PathChannels, "", ada.headers()...)
	require.Empty(t, channels)
}

// The token of a push message answers only with the cookie of its person, and without the page key.
func TestPushAnswer_NeedsSignInOfItsPerson(t *testing.T) {
	t.Parallel()
	r := setupNotifications(t)
	ada := r.openHubOwner("ada")
	grace, view := r.addPerson(ada, `{"name":"grace","role":"operator"}`), r.addPerson(ada, `{"name":"view","role":"viewer"}`)
	id := r.post(event(1, permission)).ID
	q, err := r.store.Question(t.Context(), id)
	require.NoError(t, err)
	token := func(person string) string { // as in a message to the person's browser
		key := r.store.Identity().Subkey("signed links")
		keyID := sha256.Sum256(key)
		claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"p":%q,"r":0,"e":%d,"k":"%x","b":true}`, person, time.Now().Add(time.Hour).Unix(), keyID[:4]))
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(q.UID + "\n" + claims))
		return claims + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}
	vote := func(person string) string { return `{"permission":false,"token":"` + token(person) + `"}` }
	path := "POST " + schema.At(schema.PathLinkVote, id)
	r.expectProblem("sign_in", path, vote("ada"))
	r.expectProblem("sign_in", "POST "+schema.At(schema.PathLink, id), `{"token":"`+token("ada")+`"}`)
	r.expectProblem("sign_in", path, vote("ada"), "Cookie", grace.cookie)
	r.expectProblem("sign_in", path, vote("ada"), "Cookie", "hookback-"+r.port+"=wrong")
	r.expectProblem("sign_in", path, vote("view"), "Cookie", view.cookie)

	var answered schema.Event
	r.expectOK(&answered, path, vote("grace"), "Cookie", grace.cookie)
	require.Equal(t, "grace", answered.HumanInTheLoopStatus.RespondedBy.Name)
	r.expectOK(nil, "POST "+schema.PathSignOut, `{}`, ada.headers()...)
	r.expectProblem("sign_in", path, vote("ada"), "Cookie", ada.cookie)
}
