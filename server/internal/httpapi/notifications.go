package httpapi

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/notify"
)

func (s *Server) notificationHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + schema.PathChannels:         s.channels,
		"POST " + schema.PathChannels:        s.createChannel,
		"DELETE " + schema.PathChannel:       s.removeChannel,
		"POST " + schema.PathTestChannel:     s.testChannel,
		"GET " + schema.PathChatAccounts:     s.chatAccounts,
		"POST " + schema.PathChatCodes:       s.createChatCode,
		"DELETE " + schema.PathChatAccount:   s.unlinkChatAccount,
		"GET " + schema.PathMyNotifications:  s.notificationSettings,
		"POST " + schema.PathMyNotifications: s.setNotificationSettings,
		"GET " + schema.PathPushKey:          s.pushKey,
		"POST " + schema.PathPush:            s.subscribe,
		"DELETE " + schema.PathPush:          s.unsubscribe,
		"POST " + schema.PathLink:            s.openLink,
		"POST " + schema.PathLinkVote:        s.voteByLink,
	}
}

func (s *Server) channels(c *fiber.Ctx) error {
	stored, err := s.Notifier.Store.Channels(c.UserContext())
	if err != nil {
		return err
	}
	list := make([]schema.Channel, len(stored))
	for i := range stored {
		list[i] = s.Notifier.PublicChannel(&stored[i])
	}
	return reply(c)(json.Marshal(list)) //nolint:gosec // PublicChannel omits the secrets
}

func (s *Server) createChannel(c *fiber.Ctx) error {
	var draft schema.ChannelDraft
	if err := unmarshal(c.Request().Body(), &draft); err != nil {
		return err
	}
	channel, err := notify.NewChannel(&draft, caller(c).Identity.Name)
	if err != nil {
		return err
	}
	// Its mail server reads the signed links of others, or its bot server sends their answers.
	if notify.SendsPerPerson(channel) || notify.OwnBotServer(channel) {
		if err := s.Hub.People.Check(schema.AccessOwn, caller(c).Identity); err != nil {
			return err
		}
	}
	if err := s.Notifier.AddChannel(c.UserContext(), channel); err != nil {
		return err
	}
	created := s.Notifier.PublicChannel(channel)
	created.Secret = channel.Secret        // returned only here
	return reply(c)(json.Marshal(created)) //nolint:gosec // the creator sees the secret once
}

func (s *Server) removeChannel(c *fiber.Ctx) error {
	id, err := eventID(c)
	if err != nil {
		return err
	}
	if err := s.Notifier.RemoveChannel(c.UserContext(), int64(id), caller(c).Identity.Name); err != nil {
		return channelError(err)
	}
	return s.channels(c)
}

func (s *Server) testChannel(c *fiber.Ctx) error {
	id, err := eventID(c)
	if err != nil {
		return err
	}
	result, err := s.Notifier.SendTest(c.UserContext(), int64(id), caller(c).Identity.Name)
	if err != nil {
		return channelError(err)
	}
	return reply(c)(json.Marshal(result))
}

// channelError turns ErrNotFound into an error about the channel, because ErrNotFound's own
// text is about events.
func channelError(err error) error {
	if err == schema.ErrNotFound { //nolint:errorlint // the store returns it unwrapped
		return &schema.FieldError{Field: "id", Detail: "does not name a channel; it may have been removed", Cause: schema.ErrNotFound}
	}
	return err
}

func (s *Server) chatAccounts(c *fiber.Ctx) error {
	return replyJSON(c)(s.Notifier.ChatAccounts(c.UserContext(), caller(c).Identity.Name))
}

func (s *Server) createChatCode(c *fiber.Ctx) error {
	proof, err := confirmation(c)
	if err == nil {
		err = s.Hub.People.ConfirmChat(c.UserContext(), caller(c).Identity, proof)
	}
	if err != nil {
		return err
	}
	return replyJSON(c)(s.Notifier.NewChatCode(c.UserContext(), caller(c).Identity.Name))
}

func (s *Server) unlinkChatAccount(c *fiber.Ctx) error {
	account, err := url.PathUnescape(c.Params("account"))
	if err == nil {
		err = s.Notifier.Store.UnlinkChatAccount(c.UserContext(),
			strings.Clone(c.Params("kind")), strings.Clone(account), caller(c).Identity.Name)
	}
	if err != nil {
		return &schema.FieldError{Field: "account", Detail: "does not name a chat account of yours; it may have been removed", Cause: err}
	}
	return s.chatAccounts(c)
}

func (s *Server) notificationSettings(c *fiber.Ctx) error {
	person := caller(c).Identity.Name
	settings, err := s.Notifier.Store.NotificationSettings(c.UserContext(), person)
	if err != nil {
		return err
	}
	browsers, err := s.Notifier.Store.PushSubscriptions(c.UserContext(), person)
	if err != nil {
		return err
	}
	settings.Browsers, settings.Email = len(browsers), s.emailOf(c, person)
	return reply(c)(json.Marshal(settings))
}

func (s *Server) emailOf(c *fiber.Ctx, person string) string {
	for _, p := range s.Hub.People.Accounts(c.UserContext()) {
		if p.Name == person {
			return p.Email
		}
	}
	return ""
}

func (s *Server) setNotificationSettings(c *fiber.Ctx) error {
	person := caller(c).Identity.Name
	var settings schema.NotificationSettings
	if err := unmarshal(c.Request().Body(), &settings); err != nil {
		return err
	}
	if err := notify.CheckSettings(&settings); err != nil {
		return err
	}
	if settings.Email != "" && settings.Email != s.emailOf(c, person) { // older pages send none
		if err := s.Hub.People.SetOwnAddress(c.UserContext(), settings.Email, caller(c).Identity); err != nil {
			return err
		}
	}
	settings.Browsers, settings.Email = 0, "" // read-only
	if err := s.Notifier.Store.SetNotificationSettings(c.UserContext(), person, settings); err != nil {
		return err
	}
	return s.notificationSettings(c)
}

func (s *Server) pushKey(c *fiber.Ctx) error {
	key, err := s.Notifier.PushKey(c.UserContext())
	if err != nil {
		return err
	}
	return reply(c)(json.Marshal(schema.PushKey{Key: key}))
}

func (s *Server) subscribe(c *fiber.Ctx) error {
	person := caller(c).Identity.Name
	var browser schema.PushSubscription
	if err := unmarshal(c.Request().Body(), &browser); err != nil {
		return err
	}
	if err := s.Notifier.Subscribe(c.UserContext(), person, browser); err != nil {
		return err
	}
	return s.notificationSettings(c)
}

// unsubscribe requires only the endpoint, a secret between the browser and the hub: a person
// who signed out can still unsubscribe. The response has the settings of a signed-in person.
func (s *Server) unsubscribe(c *fiber.Ctx) error {
	var browser schema.PushSubscription
	if err := unmarshal(c.Request().Body(), &browser); err != nil {
		return err
	}
	if err := s.Notifier.Store.RemovePushSubscription(c.UserContext(), browser.Endpoint); err != nil {
		return err
	}
	if s.Hub.People.Check(schema.AccessOwn, caller(c).Identity) != nil {
		return reply(c)(json.Marshal(schema.NotificationSettings{}))
	}
	return s.notificationSettings(c)
}

func (s *Server) openLink(c *fiber.Ctx) error {
	var link schema.Link
	id, err := decode(c, &link)
	if err != nil {
		return err
	}
	opened, err := s.Notifier.OpenLink(c.UserContext(), id, link.Token, c.Cookies(s.cookieName(c)))
	if err != nil {
		return err
	}
	return reply(c)(json.Marshal(struct {
		Person    string          `json:"person"`
		ExpiresAt schema.Millis   `json:"expiresAt"`
		Event     json.RawMessage `json:"event"`
	}{opened.Identity.Name, schema.Millis(opened.Expires.UnixMilli()), opened.Event}))
}

func (s *Server) voteByLink(c *fiber.Ctx) error {
	var vote schema.LinkVote
	id, err := decode(c, &vote)
	if err != nil {
		return err
	}
	var event []byte
	err = s.Notifier.VoteByLink(c.UserContext(), id, vote.Token, c.Cookies(s.cookieName(c)), func(o *notify.OpenedLink) (err error) {
		by := caller(c)
		by.Identity = o.Identity
		event, err = s.Hub.Respond(c.UserContext(), id, &schema.Response{
			Permission: vote.Permission, Response: vote.Response, Choice: vote.Choice, Answers: vote.Answers,
			Reason: vote.Reason, Comment: vote.Comment, Revision: max(vote.Revision, o.Revision),
		}, by)
		return err
	})
	return reply(c)(event, err)
}
