package httpapi

import (
	"fmt"
	"net/netip"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/schema/routes"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/peer"
)

// admit returns the middleware that takes a place for a request of route r.
func (s *Server) admit(r *routes.Route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		identity, _ := c.Locals(identityLocal).(auth.Identity)
		isStream := r.Path == schema.PathStream && (middleware.IsUpgrade(c) || isPoll(c)) || r.Path == inbox.PathApprovalFeed
		want := middleware.Place{Class: middleware.OrdinaryPlace, IsStream: isStream}
		isPerson := identity.IsAuthenticated() && !identity.Agent
		if identity.IsAuthenticated() {
			want.Owner = "token " + identity.Requester()
		}
		switch {
		case waitsForAnswer(c, r):
			want.Class = middleware.WaitingPlace
		case isPerson:
			want.Class, want.Owner = middleware.SignedInPlace, identity.Name
		case want.IsStream:
			want.Class = middleware.StreamPlace
		}
		if !s.places.Enter(c, want, func() string { return s.programOf(c) }) {
			c.Context().SetConnectionClose() // an idle connection holds memory, too
			return errNoPlace(want.Class)
		}
		return c.Next()
	}
}

// waitsForAnswer reports whether a request of route r waits until a person has answered.
func waitsForAnswer(c *fiber.Ctx, r *routes.Route) bool {
	switch r.Path {
	case schema.PathResponse, control.PathWait:
		wait := c.Query("wait")
		return wait != "" && wait != "0"
	case schema.PathMCP:
		return true
	default:
		return false // PathAsk and a hook of PathClaudeCode take their waiting place when they wait
	}
}

// programOf names the program that sent the request, or its address if the program is not known.
func (s *Server) programOf(c *fiber.Ctx) string {
	by := caller(c)
	program := by.Process
	if program.PID == 0 && s.Hub.Processes != nil {
		program, _ = peer.ProgramOf(by.Remote, by.Local)
	}
	if program.PID != 0 {
		return fmt.Sprintf("process %d %d", program.PID, program.Start)
	}
	from := by.Remote.Addr().Unmap()
	if from.Is6() {
		if network, err := from.WithZone("").Prefix(64); err == nil {
			return "network " + network.String()
		}
	}
	return "address " + addressText(from)
}

func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return "unknown"
	}
	return a.String()
}

// errNoPlace is the error of a request without a place.
func errNoPlace(class middleware.PlaceClass) error {
	hint := "Too many requests are in progress. Nothing was stored. Send the request again in a moment."
	switch class {
	case middleware.WaitingPlace:
		hint = "Too many requests wait for an answer. The question stays open. Ask for its answer again in a moment."
	case middleware.SignedInPlace, middleware.StreamPlace:
		hint = "Too many pages are open. Close some, or try again in a moment."
	}
	return &schema.HintError{Err: schema.ErrBusy, Hint: hint}
}
