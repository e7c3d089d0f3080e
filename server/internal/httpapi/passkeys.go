package httpapi

import (
	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
)

func (s *Server) passkeyHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + schema.PathPasskeys:          s.listPasskeys,
		"POST " + schema.PathNewPasskey:       s.newPasskey,
		"POST " + schema.PathPasskeys:         s.addPasskey,
		"DELETE " + schema.PathPasskey:        s.removePasskey,
		"POST " + schema.PathPasskeyChallenge: s.challenge,
		"POST " + schema.PathPasskeyConfirm:   s.challengeAction,
	}
}

func (s *Server) listPasskeys(c *fiber.Ctx) error {
	return replyJSON(c)(s.Hub.People.MyPasskeys(caller(c).Identity))
}

func (s *Server) newPasskey(c *fiber.Ctx) error {
	proof, err := confirmation(c)
	if err != nil {
		return err
	}
	return replyJSON(c)(s.Hub.People.NewPasskey(c.UserContext(), proof, caller(c).Identity))
}

func (s *Server) addPasskey(c *fiber.Ctx) error {
	var draft schema.PasskeyDraft
	if err := unmarshal(c.Request().Body(), &draft); err != nil {
		return err
	}
	return replyJSON(c)(s.Hub.People.AddPasskey(c.UserContext(), draft, caller(c).Identity))
}

func (s *Server) removePasskey(c *fiber.Ctx) error {
	proof, err := confirmation(c)
	if err != nil {
		return err
	}
	if err := s.Hub.People.RemovePasskey(c.UserContext(), c.Params("id"), proof, caller(c).Identity); err != nil {
		return err
	}
	return s.listPasskeys(c)
}

func (s *Server) challengeAction(c *fiber.Ctx) error {
	var action schema.CredentialAction
	if err := unmarshal(c.Request().Body(), &action); err != nil {
		return err
	}
	return replyJSON(c)(s.Hub.People.ChallengeAction(caller(c).Identity, action))
}

func (s *Server) challenge(c *fiber.Ctx) error {
	var request schema.ChallengeRequest
	if err := unmarshal(c.Request().Body(), &request); err != nil {
		return err
	}
	return replyJSON(c)(s.Hub.Challenge(c.UserContext(), &request, caller(c)))
}
