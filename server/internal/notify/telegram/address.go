package telegram

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// Via is how a person's answer is recorded.
const Via = "telegram"

// Address is the content of a channel's address: telegram://TOKEN@telegram?chats=CHAT,… with
// notification=no for messages without a sound. A host other than telegram is a Bot API server of
// one's own, reached over https, or over http on loopback.
type Address struct {
	Token  string
	Chats  []string
	Silent bool
	Server *url.URL // of one's own; nil: Telegram's
}

// botToken is the format of a token: the number of the bot and a secret.
var botToken = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]{35}$`)

// ParseAddress reads an address. Its errors do not contain the token.
func ParseAddress(address string) (a Address, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return a, errors.New("it is no address")
	}
	password, _ := u.User.Password()
	a.Token = u.User.Username() + ":" + password
	if !botToken.MatchString(a.Token) {
		return a, errors.New("the token of the bot is not valid")
	}
	for name, values := range u.Query() {
		value := values[len(values)-1]
		switch strings.ToLower(name) {
		case "chats", "channels":
			a.Chats = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
		case "notification":
			a.Silent = value == "no" || value == "false" || value == "0"
		case "preview":
		default:
			return a, fmt.Errorf("it has the unknown setting %q", name)
		}
	}
	if len(a.Chats) == 0 {
		return a, errors.New("it has no chat: add ?chats=CHAT")
	}
	if u.Host != Via {
		a.Server = &url.URL{Scheme: "https", Host: u.Host}
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsLoopback() {
			a.Server.Scheme = "http"
		}
	}
	return a, nil
}
