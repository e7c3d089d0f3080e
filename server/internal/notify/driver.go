package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/netguard"
	"github.com/hookback/hookback/server/internal/notify/chat"
	"github.com/hookback/hookback/server/internal/store"
)

// driver is the address of one channel. Each kind of channel implements it in one file.
type driver interface {
	// check refuses an address that the hub may not connect to, without a name lookup.
	check(g *netguard.Guard) error

	// send sends a message. A failure that a repetition can't fix is a permanentError.
	send(ctx context.Context, o *outlet, m *message) error

	// newBot returns the bot that sends the messages and takes answers to them, and the token with
	// which only one channel may read answers; nil: the channel takes none.
	newBot(o *outlet) (bot *chat.Bot, token string)
}

// oneWay is embedded by drivers whose channels take no answers.
type oneWay struct{}

func (oneWay) newBot(*outlet) (*chat.Bot, string) { return nil, "" }

// fixedHost is embedded by drivers whose addresses name no host: the service has a public one.
type fixedHost struct{}

func (fixedHost) check(*netguard.Guard) error { return nil }

// target is a driver with the properties of its address.
type target struct {
	driver
	perPerson bool // each person gets messages at their own address; they may contain a signed link
	// needsOwner is set if the server of the address reads the signed links of other people or sends
	// their answers, so that only the owner of the hub may choose it.
	needsOwner bool
}

// kind is a kind of channel.
type kind struct {
	name      string   // as in schema.Channel.Kind
	schemes   []string // of its addresses
	example   string   // of an address
	showsHost bool     // the host of an address is no secret
	isSigned  bool     // the creator gets a secret that signs the messages
	parse     func(address string) (target, error)
}

// outlet is a channel in use.
type outlet struct {
	*core
	target
	channel  *store.Channel
	hub      Hub       // takes the answers of the bot; nil while the notifier does not run
	bot      *chat.Bot // nil: the channel takes no answers
	token    string    // of bot
	redactor secretRedactor
}

// deliver sends a message with the details that the channel shows.
func (o *outlet) deliver(ctx context.Context, m *message) error {
	if o.channel.IsBrief {
		m = m.brief()
	}
	return o.driver.send(ctx, o, m)
}

// creator returns the person who added the channel; false if the name belongs to a later account.
func (o *outlet) creator() (auth.Identity, bool) {
	creator, known := o.identityOf(o.channel.CreatedBy)
	return creator, known && !o.channel.CreatedAt.Before(o.createdAt(o.channel.CreatedBy))
}

// invalid is the driver of a channel whose address this version does not accept.
type invalid struct {
	oneWay
	fixedHost
}

func (invalid) send(context.Context, *outlet, *message) error {
	return permanentError{errors.New("the address of the channel is no longer valid")}
}

// permanentError is a failure that a retry cannot fix.
type permanentError struct{ error }

func (f permanentError) Unwrap() error { return f.error }

// checkResponse returns an error for a status other than 2xx. It is permanent unless a
// retry can help.
func checkResponse(resp *http.Response) error {
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		return fmt.Errorf("the other side answered %s", resp.Status)
	case code >= 300 && code < 400:
		return permanentError{fmt.Errorf("the other side answered %s: redirects are not followed", resp.Status)}
	default:
		return permanentError{fmt.Errorf("the other side answered %s", resp.Status)}
	}
}

// secretRedactor removes the secrets of a channel from error texts.
type secretRedactor []string

// newSecretRedactor collects every part of the addresses that may be a secret, the longest
// first.
func newSecretRedactor(secrets ...string) secretRedactor {
	s := secretRedactor(slices.Clone(secrets))
	for _, secret := range secrets {
		u, err := url.Parse(secret)
		if err != nil {
			continue
		}
		password, _ := u.User.Password()
		s = append(s, u.User.String(), u.User.Username(), password, u.Hostname(), u.Path, u.RawQuery)
		s = append(s, strings.Split(u.Path, "/")...)
		for _, values := range u.Query() {
			s = append(s, values...)
		}
	}
	s = slices.DeleteFunc(s, func(part string) bool { return len(part) < 4 })
	slices.SortFunc(s, func(a, b string) int { return len(b) - len(a) })
	return s
}

var (
	urlPattern   = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)
	tokenPattern = regexp.MustCompile(`[A-Za-z0-9_\-]{24,}`)
)

// maxErrorChars limits the stored text of a failure.
const maxErrorChars = 200

// redact returns the error's text on one line, without addresses and secrets.
func (s secretRedactor) redact(err error) string {
	text := err.Error()
	var urlErr *url.Error
	if errors.As(err, &urlErr) { // the text of a url.Error starts with the address
		text = urlErr.Err.Error()
	}
	text = urlPattern.ReplaceAllString(text, "…")
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, "…")
	}
	text = tokenPattern.ReplaceAllString(text, "…")
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "")
	}
	return singleLine(text, maxErrorChars)
}
