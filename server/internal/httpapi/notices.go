package httpapi

import (
	"encoding/json"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/notify"
)

func (s *Server) noticeHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + schema.PathChannels:    s.channels,
		"POST " + schema.PathChannels:   s.makeChannel,
		"DELETE " + schema.PathChannel:  s.removeChannel,
		"POST " + schema.PathTryChannel: s.tryChannel,
		"GET " + schema.PathMyNotices:   s.myNotices,
		"POST " + schema.PathMyNotices:  s.setMyNotices,
	}
}

func (s *Server) channels(c *fiber.Ctx) error {
	stored, err := s.Notices.Store.Channels(c.UserContext())
	if err != nil {
		return err
	}
	list := make([]schema.Channel, len(stored))
	for i := range stored {
		list[i] = s.Notices.Shown(&stored[i])
	}
	return reply(c)(json.Marshal(list))
}

func (s *Server) makeChannel(c *fiber.Ctx) error {
	var draft schema.ChannelDraft
	if err := unmarshal(c.Request().Body(), &draft); err != nil {
		return err
	}
	channel, err := notify.Draft(&draft, s.actor(c))
	if err != nil {
		return err
	}
	if err := s.Notices.AddChannel(c.UserContext(), channel); err != nil {
		return err
	}
	made := s.Notices.Shown(channel)
	made.Secret = channel.Secret // this once
	return reply(c)(json.Marshal(made))
}

func (s *Server) removeChannel(c *fiber.Ctx) error {
	id, err := eventID(c)
	if err != nil {
		return err
	}
	if err := s.Notices.RemoveChannel(c.UserContext(), int64(id), s.actor(c)); err != nil {
		return noChannel(err)
	}
	return s.channels(c)
}

// actor is who does something, to the ledger.
func (s *Server) actor(c *fiber.Ctx) string {
	if name := caller(c).Who.Name; name != "" {
		return name
	}
	return "local user"
}

func (s *Server) tryChannel(c *fiber.Ctx) error {
	id, err := eventID(c)
	if err != nil {
		return err
	}
	tried, err := s.Notices.Try(c.UserContext(), int64(id), caller(c).Who.Name)
	if err != nil {
		return noChannel(err)
	}
	return reply(c)(json.Marshal(tried))
}

// noChannel says of what there is none: the protocol's error speaks of events.
func noChannel(err error) error {
	if err == schema.ErrNotFound { //nolint:errorlint // as it comes from the store
		return &schema.FieldError{Field: "id", Detail: "is no channel's: it may have been removed", Cause: schema.ErrNotFound}
	}
	return err
}

func (s *Server) myNotices(c *fiber.Ctx) error {
	person := caller(c).Who.Name
	settings, err := s.Notices.Store.NoticeSettings(c.UserContext(), person)
	if err != nil {
		return err
	}
	browsers, err := s.Notices.Store.Browsers(c.UserContext(), person)
	if err != nil {
		return err
	}
	settings.Browsers = len(browsers)
	return reply(c)(json.Marshal(settings))
}

func (s *Server) setMyNotices(c *fiber.Ctx) error {
	var settings schema.NoticeSettings
	if err := unmarshal(c.Request().Body(), &settings); err != nil {
		return err
	}
	if err := notify.CheckSettings(&settings); err != nil {
		return err
	}
	settings.Browsers = 0 // told, not set
	if err := s.Notices.Store.SetNoticeSettings(c.UserContext(), caller(c).Who.Name, settings); err != nil {
		return err
	}
	return s.myNotices(c)
}
