package httpapi

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/notify"
)

// notificationHandlers returns the handlers of the routes of channels, personal settings and signed links.
func (s *Server) notificationHandlers() map[string]handler {
	return map[string]handler{
		"GET " + schema.PathChannels:  handle(func(r *request, _ none) ([]schema.Channel, error) { return s.channels(r, nil) }),
		"POST " + schema.PathChannels: handle(s.createChannel),
		"DELETE " + schema.PathChannel: byID(func(r *request, id schema.EventID, _ none) ([]schema.Channel, error) {
			return s.channels(r, channelError(s.Notifier.RemoveChannel(r, int64(id), r.person())))
		}),
		"PUT " + schema.PathChannelFilter: byID(func(r *request, id schema.EventID, f schema.ChannelFilter) ([]schema.Channel, error) {
			return s.channels(r, channelError(s.Notifier.SetFilter(r, int64(id), f, r.person())))
		}),
		"POST " + schema.PathTestChannel: byID(func(r *request, id schema.EventID, _ none) (schema.ChannelTestResult, error) {
			result, err := s.Notifier.SendTest(r, int64(id), r.person())
			return result, channelError(err)
		}),
		"GET " + schema.PathChatAccounts: handle(func(r *request, _ none) (schema.ChatAccounts, error) {
			return s.Notifier.ChatAccounts(r, r.person())
		}),
		"POST " + schema.PathChatCodes:     optional(s.createChatCode),
		"DELETE " + schema.PathChatAccount: handle(s.unlinkChatAccount),

		"GET " + schema.PathMyNotifications: handle(func(r *request, _ none) (schema.NotificationSettings, error) {
			return s.notificationSettings(r, nil)
		}),
		"POST " + schema.PathMyNotifications: handle(s.setNotificationSettings),
		"GET " + schema.PathPushKey: handle(func(r *request, _ none) (schema.PushKey, error) {
			key, err := s.Notifier.PushKey(r)
			return schema.PushKey{Key: key}, err
		}),
		"POST " + schema.PathPush: handle(func(r *request, browser schema.PushSubscription) (schema.NotificationSettings, error) {
			return s.notificationSettings(r, s.Notifier.Subscribe(r, r.person(), browser))
		}),
		"DELETE " + schema.PathPush:   handle(s.unsubscribe),
		"POST " + schema.PathLink:     byID(s.openLink),
		"POST " + schema.PathLinkVote: byID(s.voteByLink),
	}
}

// channels returns the channels after a change, or its error.
func (s *Server) channels(r *request, err error) ([]schema.Channel, error) {
	if err != nil {
		return nil, err
	}
	stored, err := s.Notifier.Store.Channels(r)
	list := make([]schema.Channel, len(stored))
	for i := range stored {
		list[i] = s.Notifier.PublicChannel(&stored[i])
	}
	return list, err
}

func (s *Server) createChannel(r *request, draft schema.ChannelDraft) (created schema.Channel, err error) {
	channel, err := notify.NewChannel(&draft, r.person())
	if err != nil {
		return created, err
	}
	// Its mail server reads the signed links of others, or its bot server sends their answers.
	if notify.NeedsOwner(channel) {
		if err := s.Hub.People.Check(schema.AccessOwn, r.by.Identity); err != nil {
			return created, err
		}
	}
	if err := s.Notifier.AddChannel(r, channel); err != nil {
		return created, err
	}
	created = s.Notifier.PublicChannel(channel)
	created.Secret = channel.Secret // returned only here
	return created, nil
}

// channelError turns ErrNotFound into an error about the channel, because ErrNotFound's own
// text is about events.
func channelError(err error) error {
	if err == schema.ErrNotFound { //nolint:errorlint // the store returns it unwrapped
		return &schema.FieldError{Field: "id", Detail: "does not name a channel; it may have been removed", Cause: schema.ErrNotFound}
	}
	return err
}

func (s *Server) createChatCode(r *request, c schema.Confirmation) (schema.ChatCode, error) {
	if err := s.Hub.People.ConfirmChat(r, r.by.Identity, c.Proof); err != nil {
		return schema.ChatCode{}, err
	}
	return s.Notifier.NewChatCode(r, r.person())
}

func (s *Server) unlinkChatAccount(r *request, _ none) (schema.ChatAccounts, error) {
	account, err := url.PathUnescape(r.Params("account"))
	if err == nil {
		err = s.Notifier.Store.UnlinkChatAccount(r, strings.Clone(r.Params("kind")), strings.Clone(account), r.person())
	}
	if err != nil {
		return schema.ChatAccounts{}, &schema.FieldError{Field: "account", Detail: "does not name a chat account of yours; it may have been removed", Cause: err}
	}
	return s.Notifier.ChatAccounts(r, r.person())
}

// notificationSettings returns the caller's settings after a change, or its error.
func (s *Server) notificationSettings(r *request, err error) (settings schema.NotificationSettings, _ error) {
	if err == nil {
		settings, err = s.Notifier.Store.NotificationSettings(r, r.person())
	}
	if err != nil {
		return settings, err
	}
	browsers, err := s.Notifier.Store.PushSubscriptions(r, r.person())
	settings.Browsers, settings.Email = len(browsers), s.emailOf(r)
	return settings, err
}

// emailOf returns the address of the caller.
func (s *Server) emailOf(r *request) string {
	for _, p := range s.Hub.People.Accounts(r) {
		if p.Name == r.person() {
			return p.Email
		}
	}
	return ""
}

func (s *Server) setNotificationSettings(r *request, settings schema.NotificationSettings) (schema.NotificationSettings, error) {
	if err := notify.CheckSettings(&settings); err != nil {
		return settings, err
	}
	if settings.Email != "" && settings.Email != s.emailOf(r) { // older pages send none
		if err := s.Hub.People.SetOwnAddress(r, settings.Email, r.by.Identity); err != nil {
			return settings, err
		}
	}
	settings.Browsers, settings.Email = 0, "" // read-only
	settings.ReportedAt = 0
	if settings.ReportAt != "" { // the first report is sent when the hour comes next
		settings.ReportedAt = schema.Millis(s.Query.Clock().UnixMilli())
	}
	return s.notificationSettings(r, s.Notifier.Store.SetNotificationSettings(r, r.person(), settings))
}

// unsubscribe requires only the endpoint, a secret between the browser and the hub: a person
// who signed out can still unsubscribe. The response has the settings of a signed-in person.
func (s *Server) unsubscribe(r *request, browser schema.PushSubscription) (schema.NotificationSettings, error) {
	err := s.Notifier.Store.RemovePushSubscription(r, browser.Endpoint)
	if err != nil || s.Hub.People.Check(schema.AccessOwn, r.by.Identity) != nil {
		return schema.NotificationSettings{}, err
	}
	return s.notificationSettings(r, nil)
}

func (s *Server) openLink(r *request, id schema.EventID, link schema.Link) ([]byte, error) {
	opened, err := s.Notifier.OpenLink(r, id, link.Token, r.Cookies(s.cookieName(r.Ctx)))
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct { // a schema.LinkPreview
		Person    string          `json:"person"`
		ExpiresAt schema.Millis   `json:"expiresAt"`
		Event     json.RawMessage `json:"event"`
	}{opened.Identity.Name, schema.Millis(opened.Expires.UnixMilli()), opened.Event})
}

func (s *Server) voteByLink(r *request, id schema.EventID, vote schema.LinkVote) (event []byte, err error) {
	err = s.Notifier.VoteByLink(r, id, vote.Token, r.Cookies(s.cookieName(r.Ctx)), func(o *notify.OpenedLink) (err error) {
		by := r.by
		by.Identity = o.Identity
		event, err = s.Hub.Respond(r, id, &schema.Response{
			Permission: vote.Permission, Response: vote.Response, Choice: vote.Choice, Answers: vote.Answers,
			Reason: vote.Reason, Comment: vote.Comment, Revision: max(vote.Revision, o.Revision),
		}, by)
		return err
	})
	return event, err
}
