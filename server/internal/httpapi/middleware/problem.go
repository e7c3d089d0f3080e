package middleware

import (
	"encoding/json"
	"net/http"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/hookback/hookback/schema"
)

// WriteStatusError answers a request that the server rejected before a handler ran.
func WriteStatusError(ctx *fasthttp.RequestCtx, status int) {
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
		ctx.Response.Header.Set(fiber.HeaderRetryAfter, RetryAfter())
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
	if cn, ok := ctx.Conn().(*Conn); ok {
		cn.LingerOnClose()
	}
	WriteSecurityHeaders(ctx)
	WriteProblem(ctx, p)
}

// httpProblem returns the problem document for an HTTP status.
func httpProblem(status int, detail, hint string) schema.Problem {
	p := schema.ProblemOf(schema.ErrInvalid)
	p.Status, p.Title = status, http.StatusText(status)
	p.Detail, p.Error, p.Hint = detail, detail, hint
	return p
}

// WriteProblem sends a problem document as the whole response.
func WriteProblem(ctx *fasthttp.RequestCtx, p schema.Problem) {
	b, err := json.Marshal(p)
	if err != nil {
		b = []byte(`{"type":"about:blank","status":500,"code":"internal"}`)
	}
	ctx.Response.ResetBody()
	ctx.Response.Header.SetContentType(schema.ProblemMediaType)
	ctx.SetStatusCode(p.Status)
	ctx.Response.SetBodyRaw(b)
}
