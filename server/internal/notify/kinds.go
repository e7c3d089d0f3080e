package notify

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// kinds are the kinds of channels. A new kind is its row here, and one file with its driver or a row of services.go.
var kinds = []kind{
	ntfyService.kind(), slackKind, discordService.kind(), telegramKind, gotifyService.kind(), pushoverService.kind(),
	mattermostService.kind(), mailKind, webhookKind, pushKind,
}

func kindOf(name string) kind {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return kind{parse: func(string) (target, error) { return target{}, errors.New("the kind of channel is unknown") }}
	}
	return kinds[i]
}

func parseAddress(c *store.Channel) (target, error) { return kindOf(c.Kind).parse(c.URL) }

// open returns the outlet of a channel. If its address is no longer valid, each message fails.
func (k *core) open(c *store.Channel, h Hub) *outlet {
	o := &outlet{core: k, channel: c, hub: h, redactor: newSecretRedactor(c.URL, c.Secret)}
	var err error
	if o.target, err = parseAddress(c); err != nil {
		k.Log.Error("channel address not valid", "channel", c.ID, "err", o.redactor.redact(err))
		o.target = target{driver: invalid{}}
	}
	o.bot, o.token = o.driver.newBot(o)
	return o
}

// briefDetail is the detail of a channel whose messages show neither question nor call.
const briefDetail = "brief"

// NewChannel validates the settings of a new channel and returns it. It does not connect to the
// address.
func NewChannel(d *schema.ChannelDraft, by string) (*store.Channel, error) {
	name := singleLine(d.Name, maxNameChars)
	if name == "" || name != d.Name {
		return nil, &schema.FieldError{Field: "name", Detail: "must be one line of at most 60 characters"}
	}
	u, err := url.Parse(d.URL)
	if err != nil || len(d.URL) > 4096 || u.Host == "" {
		return nil, unknownAddress() // without the input, which is a secret
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return slices.Contains(k.schemes, u.Scheme) })
	if i < 0 {
		return nil, unknownAddress()
	}
	c := &store.Channel{Name: name, URL: d.URL, Person: d.Person, CreatedBy: by, Kind: kinds[i].name, IsBrief: d.Detail == briefDetail}
	if d.Detail != "" && d.Detail != "full" && !c.IsBrief {
		return nil, &schema.FieldError{Field: "detail", Detail: "must be full or brief"}
	}
	if _, err := parseAddress(c); err != nil {
		var fault *schema.FieldError
		if errors.As(err, &fault) {
			return nil, fault
		}
		return nil, &schema.FieldError{Field: "url", Detail: "is not a valid " + c.Kind + " address: " + newSecretRedactor(c.URL).redact(err)}
	}
	if kinds[i].isSigned {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // never fails: the runtime aborts the program instead
		c.Secret = webhookSecretPrefix + base64.StdEncoding.EncodeToString(secret)
	}
	return c, nil
}

func unknownAddress() error {
	var examples []string
	for _, k := range kinds {
		if k.example != "" {
			examples = append(examples, k.example)
		}
	}
	last := len(examples) - 1
	return &schema.FieldError{Field: "url", Detail: "must be an address such as " + strings.Join(examples[:last], ", ") + " or " + examples[last]}
}

// NeedsOwner reports whether only the owner of the hub may add a channel: its server reads the signed
// links of other people, or sends their answers.
func NeedsOwner(c *store.Channel) bool {
	t, err := parseAddress(c)
	return err == nil && t.needsOwner
}

// publicAddress returns the scheme of a channel's address, and its host unless that is
// secret.
func publicAddress(c *store.Channel) string {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return c.Kind
	case kindOf(c.Kind).showsHost:
		return u.Scheme + "://" + u.Host
	default:
		return u.Scheme + "://…"
	}
}
