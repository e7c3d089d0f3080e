package httpapi

import (
	"context"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
)

func (s *Server) mcpHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{"POST " + schema.PathMCP: s.serveMCP}
}

func (s *Server) serveMCP(c *fiber.Ctx) error {
	if s.MCP == nil {
		return schema.ErrNoRoute
	}
	by := caller(c)
	return s.netHTTP.Serve(c, func(waitCtx context.Context) http.Handler { return s.MCP.HandlerFor(waitCtx, by) })
}
