package notify

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/notify/slack"
	"github.com/hookback/hookback/server/internal/notify/telegram"
	"github.com/hookback/hookback/server/internal/store"
)

// The kinds of channel that shoutrrr does not implement.
const (
	smtpName    = "smtp"
	webhookName = "webhook"
	pushName    = "push"
)

// briefDetail is the detail of a channel whose messages show neither question nor call.
const briefDetail = "brief"

// MaxChannels limits the channels of a hub, because each has its own goroutines.
const MaxChannels = 50

// chatServices are the supported services of shoutrrr. The value reports whether the host
// may be shown; for the others it is part of the secret.
var chatServices = map[string]bool{
	"slack": false, "discord": false, "telegram": false, "pushover": false,
	"ntfy": true, "gotify": true, "mattermost": true,
}

const urlFormat = "must be an address such as ntfy://ntfy.sh/TOPIC, slack://…, discord://…, telegram://…, gotify://…, pushover://…, mattermost://…, smtp://USER:PASSWORD@HOST:587/?from=ADDRESS or https://…" //nolint:gosec // names of what to fill in

// NewChannel validates the settings of a new channel and returns it. It does not connect to the
// address.
func NewChannel(d *schema.ChannelDraft, by string) (*store.Channel, error) {
	name := singleLine(d.Name, maxNameChars)
	if name == "" || name != d.Name {
		return nil, &schema.FieldError{Field: "name", Detail: "must be one line of at most 60 characters"}
	}
	u, err := url.Parse(d.URL)
	if err != nil || len(d.URL) > 4096 || u.Host == "" {
		return nil, &schema.FieldError{Field: "url", Detail: urlFormat} // without the input, which is a secret
	}
	c := &store.Channel{Name: name, URL: d.URL, Person: d.Person, CreatedBy: by, Kind: u.Scheme, IsBrief: d.Detail == briefDetail}
	if d.Detail != "" && d.Detail != "full" && !c.IsBrief {
		return nil, &schema.FieldError{Field: "detail", Detail: "must be full or brief"}
	}
	switch _, isChat := chatServices[u.Scheme]; {
	case u.Scheme == "http" || u.Scheme == "https":
		c.Kind = webhookName
		secret := make([]byte, 32)
		if _, err := rand.Read(secret); err != nil {
			return nil, err
		}
		c.Secret = webhookSecretPrefix + base64.StdEncoding.EncodeToString(secret)
		return c, nil
	case u.Scheme == smtpName || u.Scheme == "smtps":
		c.Kind = smtpName
		_, err := parseMailURL(d.URL)
		return c, err
	case !isChat:
		return nil, &schema.FieldError{Field: "url", Detail: urlFormat}
	}
	return c, checkChatURL(c.Kind, d.URL)
}

// checkAddress refuses a channel whose address the hub may not connect to, without a name
// lookup. The services without a host in their address have a fixed public one.
func (n *Notifier) checkAddress(c *store.Channel) error {
	switch c.Kind {
	case smtpName:
		config, err := parseMailURL(c.URL)
		if err != nil {
			return err
		}
		return n.Guard.CheckHost(config.host, uint16(config.port)) //nolint:gosec // a port
	case telegram.Via:
		address, err := telegram.ParseAddress(c.URL)
		if err != nil || address.Server == nil {
			return err
		}
		return n.Guard.CheckURL(address.Server)
	case webhookName, "ntfy", "gotify", "mattermost":
		u, err := url.Parse(c.URL)
		if err != nil {
			return err
		}
		return n.Guard.CheckURL(u)
	default:
		return nil
	}
}

// markupOptions are query parameters of services that would turn text into markup or add
// links.
var markupOptions = map[string][]string{
	"telegram": {"parsemode"}, "gotify": {"extras"}, "ntfy": {"actions", "attach", "click"},
}

// checkChatURL lets shoutrrr parse the address.
func checkChatURL(service, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return &schema.FieldError{Field: "url", Detail: urlFormat}
	}
	for name := range u.Query() {
		if slices.Contains(markupOptions[service], strings.ToLower(name)) {
			return &schema.FieldError{Field: "url", Detail: "must not set " + name + ": messages are plain text with one link, to the request"}
		}
	}
	switch {
	case service == telegram.Via:
		_, err = telegram.ParseAddress(address)
	case service == slack.Via && slack.HasSocket(address):
		_, err = slack.ParseAddress(address)
	default:
		_, err = new(router.ServiceRouter).Locate(address)
	}
	if err != nil {
		return &schema.FieldError{Field: "url", Detail: "is not a valid " + service + " address: " + newSecretRedactor(address).redact(err)}
	}
	return nil
}

// publicAddress returns the scheme of a channel's address, and its host unless that is
// secret.
func publicAddress(c *store.Channel) string {
	u, err := url.Parse(c.URL)
	if err != nil {
		return c.Kind
	}
	if showHost, isChat := chatServices[c.Kind]; isChat && !showHost {
		return u.Scheme + "://…"
	}
	return u.Scheme + "://" + u.Host
}

// PublicChannel returns a channel without its secrets.
func (n *Notifier) PublicChannel(c *store.Channel) schema.Channel {
	public := schema.Channel{
		ID: c.ID, Name: c.Name, Kind: c.Kind, Address: publicAddress(c), Person: c.Person,
		CreatedAt: schema.Millis(c.CreatedAt.UnixMilli()), CreatedBy: c.CreatedBy,
	}
	if c.IsBrief {
		public.Detail = briefDetail
	}
	n.mu.Lock()
	w := n.workers[c.ID]
	if w != nil && w.bot != nil {
		public.Bot, public.NoAnswers = w.bot.Name(), w.bot.Stopped()
	}
	n.mu.Unlock()
	if w == nil {
		return public
	}
	if until := w.pausedUntil(); until.After(n.Clock()) {
		public.Paused = schema.Millis(until.UnixMilli())
	}
	return public
}

// SendsPerPerson reports whether a channel sends to each person's own address.
func SendsPerPerson(c *store.Channel) bool {
	if c.Kind != smtpName {
		return false
	}
	config, err := parseMailURL(c.URL)
	return err == nil && config.to == ""
}

// OwnBotServer reports whether the messages of a channel go through a private Bot API server.
func OwnBotServer(c *store.Channel) bool {
	address, err := telegram.ParseAddress(c.URL)
	return c.Kind == telegram.Via && err == nil && address.Server != nil
}

// secretRedactor removes the secrets of a channel from error texts.
type secretRedactor []string

// newSecretRedactor collects every part of the addresses that may be a secret, the longest
// first.
func newSecretRedactor(secrets ...string) secretRedactor {
	var s secretRedactor
	addPart := func(part string) {
		if len(part) >= 4 && !slices.Contains(s, part) {
			s = append(s, part)
		}
	}
	for _, secret := range secrets {
		addPart(secret)
		u, err := url.Parse(secret)
		if err != nil {
			continue
		}
		password, _ := u.User.Password()
		for _, part := range []string{u.User.String(), u.User.Username(), password, u.Path, u.RawQuery} {
			addPart(part)
		}
		if !chatServices[u.Scheme] { // the host is a secret, too
			addPart(u.Hostname())
		}
		for part := range strings.SplitSeq(u.Path, "/") {
			addPart(part)
		}
		for _, values := range u.Query() {
			for _, v := range values {
				addPart(v)
			}
		}
	}
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
