package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/hookback/hookback/schema"
)

// writeError sends an error as a problem document. It never
// shows the text of an error that is not from package schema, because an error of the HTTP
// server may contain request headers, including cookies.
func (s *Server) writeError(c *fiber.Ctx, err error) error {
	var fiberErr *fiber.Error
	if errors.As(err, &fiberErr) {
		s.writeStatusError(c.Context(), fiberErr.Code)
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = schema.ErrStopping
	}
	p := schema.ProblemOf(err)
	if p.Status == http.StatusInternalServerError {
		s.Log.Error("request failed", "route", c.Route().Path, "err", err)
	}
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusInsufficientStorage {
		c.Set(fiber.HeaderRetryAfter, retryAfter())
	}
	writeProblem(c.Context(), p)
	return nil
}

// writeStatusError answers a request that the server rejected before a handler ran.
func (s *Server) writeStatusError(ctx *fasthttp.RequestCtx, status int) {
	var p schema.Problem
	switch status {
	case http.StatusRequestEntityTooLarge:
		p = schema.ProblemOf(&schema.HintError{Err: schema.ErrTooLarge, Hint: "The limit is 8 MiB. Nothing was stored. Leave the transcript or large tool output out of the event."})
	case http.StatusRequestHeaderFieldsTooLarge:
		p = httpProblem(status, "the request's headers are too large", "Send at most 16 KiB of headers in total.")
	case http.StatusRequestTimeout:
		p = httpProblem(status, "the request did not arrive in time", "Nothing was stored. Send the request again.")
	case http.StatusServiceUnavailable:
		p = schema.ProblemOf(&schema.HintError{Err: schema.ErrBusy, Hint: "Too many large requests are in progress. Nothing was stored. Send the request again in a moment."})
		ctx.Response.Header.Set(fiber.HeaderRetryAfter, retryAfter())
	case http.StatusUpgradeRequired:
		p = httpProblem(status, "this path is a WebSocket", "Connect to ws://…/stream.")
	case http.StatusMethodNotAllowed:
		p = schema.ProblemOf(schema.ErrMethod)
	case http.StatusNotFound:
		p = schema.ProblemOf(schema.ErrNoRoute)
	default:
		p = httpProblem(http.StatusBadRequest, "this is not a valid HTTP request", "")
	}
	// The peer may still be sending. Give it time to read this response.
	if cn, ok := ctx.Conn().(*conn); ok {
		cn.lingerOnClose()
	}
	writeSecurityHeaders(ctx)
	writeProblem(ctx, p)
}

// httpProblem returns the problem document for an HTTP status.
func httpProblem(status int, detail, hint string) schema.Problem {
	p := schema.ProblemOf(schema.ErrInvalid)
	p.Status, p.Title = status, http.StatusText(status)
	p.Detail, p.Error, p.Hint = detail, detail, hint
	return p
}

func writeProblem(ctx *fasthttp.RequestCtx, p schema.Problem) {
	b, err := json.Marshal(p)
	if err != nil {
		b = []byte(`{"type":"about:blank","status":500,"code":"internal"}`)
	}
	ctx.Response.ResetBody()
	ctx.Response.Header.SetContentType(schema.ProblemMediaType)
	ctx.SetStatusCode(p.Status)
	ctx.Response.SetBodyRaw(b)
}
