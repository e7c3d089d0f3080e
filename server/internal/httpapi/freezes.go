package httpapi

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/reach"
)

func (s *Server) freezeHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + control.PathFreezes:   s.freezes,
		"POST " + control.PathFreezes:  s.freeze,
		"DELETE " + control.PathFreeze: s.unfreeze,
		"GET " + control.PathSafety:    s.safety,
		"PUT " + control.PathSafety:    s.setSafety,
		"GET " + control.PathReach:     s.reach,
		"PUT " + control.PathReach:     s.setReach,

		"POST " + control.PathReachCheck: s.checkReach,
		"POST " + control.PathPairing:    s.createPairing,
	}
}

func (s *Server) freezes(c *fiber.Ctx) error { return replyJSON(c)(s.Hub.Freezes(c.UserContext())) }

func (s *Server) freeze(c *fiber.Ctx) error {
	var d control.FreezeDraft
	if err := unmarshal(c.Request().Body(), &d); err != nil {
		return err
	}
	f, _, err := s.Hub.Freeze(c.UserContext(), &d, caller(c))
	if err == nil {
		c.Status(fiber.StatusCreated)
	}
	return replyJSON(c)(f, err)
}

func (s *Server) unfreeze(c *fiber.Ctx) error {
	id, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil || id < 1 {
		return schema.ErrNotFound
	}
	return replyJSON(c)(s.Hub.Unfreeze(c.UserContext(), id, caller(c)))
}

func (s *Server) safety(c *fiber.Ctx) error { return replyJSON(c)(s.Safety.Read(c.UserContext())) }

func (s *Server) setSafety(c *fiber.Ctx) error {
	var settings control.SafetySettings
	if err := unmarshal(c.Request().Body(), &settings); err != nil {
		return err
	}
	if err := s.Safety.Set(c.UserContext(), settings, caller(c).Identity.Name); err != nil {
		return err
	}
	return s.safety(c)
}

func (s *Server) reach(c *fiber.Ctx) error { return replyJSON(c)(s.Reach.Read(), nil) }

func (s *Server) setReach(c *fiber.Ctx) error {
	var settings control.ReachSettings
	if err := unmarshal(c.Request().Body(), &settings); err != nil {
		return err
	}
	if err := s.Reach.Set(c.UserContext(), settings, caller(c).Identity.Name); err != nil {
		return err
	}
	return s.reach(c)
}

func (s *Server) checkReach(c *fiber.Ctx) error {
	s.Reach.Check(c.UserContext())
	return s.reach(c)
}

// createPairing creates a code only if another device can open its link.
func (s *Server) createPairing(c *fiber.Ctx) error {
	proof, err := confirmation(c)
	if err != nil {
		return err
	}
	public := s.Reach.Read()
	if public.State != control.ReachOK {
		return &schema.HintError{Err: &schema.FieldError{Detail: "needs a public address at which this hub answers"}, Hint: "Another device can't open this hub yet. Set its public address under Settings, Hub."}
	}
	code, expiresAt, err := s.Hub.People.CreatePairing(c.UserContext(), proof, caller(c).Identity)
	if err != nil {
		return err
	}
	link := public.PublicURL + "/#pair=" + code
	image, err := reach.QRCode(link)
	return replyJSON(c)(control.PairingCode{URL: link, QR: image, ExpiresAt: schema.Millis(expiresAt.UnixMilli())}, err)
}
