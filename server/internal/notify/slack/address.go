package slack

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Via is how a person's answer is recorded.
const Via = "slack"

// Address is the content of a channel's address: slack://BOT_TOKEN:APP_TOKEN@slack?channels=C0123,….
// The bot token sends messages; the app token opens the socket on which answers arrive.
type Address struct {
	BotToken string // xoxb-…
	AppToken string // xapp-…
	Channels []string
}

var (
	botToken  = regexp.MustCompile(`^xoxb-[A-Za-z0-9-]{10,200}$`)
	appToken  = regexp.MustCompile(`^xapp-[A-Za-z0-9-]{10,200}$`)
	channelID = regexp.MustCompile(`^[A-Z0-9]{3,30}$`)
)

// HasSocket reports whether an address has the form of Address. Other addresses of Slack are incoming
// webhooks, which take no answers.
func HasSocket(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return false
	}
	password, _ := u.User.Password()
	return strings.HasPrefix(password, "xapp-") || u.Host == Via
}

// ParseAddress reads an address. Its errors do not contain the tokens.
func ParseAddress(address string) (a Address, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != Via || u.Host != Via || strings.Trim(u.Path, "/") != "" {
		return a, errors.New("it is not of the form slack://BOT_TOKEN:APP_TOKEN@slack?channels=CHANNEL")
	}
	a.BotToken = u.User.Username()
	a.AppToken, _ = u.User.Password()
	switch {
	case !botToken.MatchString(a.BotToken):
		return a, errors.New("the bot token is not valid: it starts with xoxb-")
	case !appToken.MatchString(a.AppToken):
		return a, errors.New("the app token is not valid: it starts with xapp-")
	}
	for name, values := range u.Query() {
		if name != "channels" {
			return a, fmt.Errorf("it has the unknown setting %q", name)
		}
		a.Channels = strings.FieldsFunc(values[len(values)-1], func(r rune) bool { return r == ',' || r == ' ' })
	}
	if len(a.Channels) == 0 {
		return a, errors.New("it has no channel: add ?channels=CHANNEL")
	}
	for _, c := range a.Channels {
		if !channelID.MatchString(c) {
			return a, errors.New("a channel is not valid: use its ID, such as C0123456789, from the channel's details in Slack")
		}
	}
	return a, nil
}
