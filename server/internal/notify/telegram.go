package notify

import (
	"github.com/hookback/hookback/server/internal/netguard"
	"github.com/hookback/hookback/server/internal/notify/chat"
	"github.com/hookback/hookback/server/internal/notify/telegram"
)

var telegramKind = kind{name: telegram.Via, schemes: []string{telegram.Via}, example: "telegram://…", parse: parseTelegram}

func parseTelegram(address string) (target, error) {
	a, err := telegram.ParseAddress(address)
	return target{driver: telegramBot{address: a}, needsOwner: a.Server != nil}, err
}

type telegramBot struct {
	botChannel
	address telegram.Address
}

func (a telegramBot) check(g *netguard.Guard) error {
	if a.address.Server == nil {
		return nil
	}
	return g.CheckURL(a.address.Server)
}

func (a telegramBot) newBot(o *outlet) (*chat.Bot, string) {
	b := telegram.New(o.chatConfig(), a.address)
	creator, known := o.creator()
	if a.address.Server != nil && !(known && creator.Owner) { // it could press a button in the name of any linked account
		b.Stop("The hub takes answers from a private Bot API server only for the owner, who adds the channel.")
	}
	return b, a.address.Token
}
