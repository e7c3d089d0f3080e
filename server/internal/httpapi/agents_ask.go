package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/hub"
)

// maxPreferredWait is the longest wait of a request with the header Prefer, in seconds.
const maxPreferredWait = 60

// ask handles POST /ask: it stores the question in the body and holds the response until the
// question has ended. With the header Prefer: wait=N it holds it for at most N seconds, and then
// returns 202 with the path of the answer.
func (s *Server) ask(r *request) error {
	cn, ok := r.Ctx.Context().Conn().(*middleware.Conn)
	if !ok {
		return fiber.ErrInternalServerError
	}
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	r.by.KeyScope = keyScope(r.by, cn)
	body, err := parseAsk(r.Request().Body(), key, r.by)
	if err != nil {
		return err
	}
	if !s.startWaiting(r) {
		r.Ctx.Context().SetConnectionClose() // an idle connection holds memory, too
		return &schema.HintError{Err: schema.ErrBusy, Hint: "Too many requests wait for an answer. Nothing was stored. Send the request again in a moment."}
	}
	wait, isLimited := preferredWait(r)
	r.by.WaitsForAnswer, r.by.Retries = !isLimited, !isLimited && key != ""
	saved, err := s.Hub.Ingest(r, body.event, r.by)
	if err != nil {
		return unwrapField(err)
	}
	s.Hub.ResponseSent(saved.ID) // the answer is in the response; there is no listener to dial
	var stored schema.Event
	if err := json.Unmarshal(saved.JSON, &stored); err != nil {
		return err
	}
	a := &openAsk{
		server: s, conn: cn, id: saved.ID, stored: saved.JSON, kind: stored.HumanInTheLoop.Type, detach: s.Hub.Attach(saved.ID),
		secret: cmp.Or(body.secret, stored.RequestSecret), canRetry: key != "",
	}
	if isLimited {
		return s.askWithin(r, a, wait)
	}
	cancel := s.respond(r, response{conn: cn, id: a.id, secret: a.secret, waiter: a})
	cn.OnResponseSent(s.Hub.People.OnRevoked(r.by.Identity, cancel))
	return nil
}

// openAsk is a request to /ask that waits for the answer.
type openAsk struct {
	server   *Server
	conn     *middleware.Conn
	id       schema.EventID
	stored   []byte // the event
	kind     schema.Kind
	secret   string
	canRetry bool // it has an idempotency key
	detach   func(isLost bool)
}

// askWithin waits for the answer for at most wait. The question stays open, and the program pulls
// its answer.
func (s *Server) askWithin(r *request, a *openAsk, wait time.Duration) error {
	r.Set("Preference-Applied", "wait="+strconv.Itoa(int(wait.Seconds())))
	ctx, stop := a.conn.WatchDisconnect(s.stopping, a.conn.ProbeHalfClosed(r.Request()))
	answer, err := s.Hub.Pull(ctx, a.id, hub.PullOptions{Wait: wait, Secret: a.secret})
	isGone := ctx.Err() != nil && s.stopping.Err() == nil
	stop()
	a.detach(isGone && answer == nil)
	switch {
	case answer != nil:
		return r.sendJSON(answer)
	case errors.Is(err, schema.ErrExpired):
		return r.sendJSON(a.cancelled("the question was withdrawn"))
	case err != nil:
		return err
	}
	r.Status(fiber.StatusAccepted).Set(fiber.HeaderLocation, schema.At(schema.PathResponse, a.id))
	return r.sendJSON(a.stored)
}

// render implements waiter.
func (a *openAsk) render(answer []byte, _ error) []byte {
	a.detach(false)
	if answer == nil {
		return a.cancelled("the question was withdrawn")
	}
	return answer
}

// end implements waiter. The program disconnected, the answer can't be read, or the hub stops. A
// program that can send its request again gets no answer from a hub that stops: it asks the hub
// again after its restart.
func (a *openAsk) end(ctx context.Context) []byte {
	isStopping := a.server.stopping.Err() != nil
	if a.canRetry {
		a.detach(!isStopping)
		return nil
	}
	a.detach(false)
	reason := hub.ReasonAgentGone
	if isStopping {
		reason = hub.ReasonAskStopped
	}
	a.server.abandon(ctx, a.id, reason)
	return a.cancelled(reason)
}

// cancelled returns the answer to a request that can't get another. It is never an approval.
func (a *openAsk) cancelled(reason string) []byte {
	answer := schema.Answer{
		Outcome: schema.Cancelled, Source: schema.ByOrphaned, Reason: reason, RespondedAt: schema.Millis(a.server.Hub.Clock().UnixMilli()),
		Guidance: "No one approved this. Do not continue as if it were approved.",
	}
	if a.kind == schema.Permission {
		answer.Permission = new(bool)
	}
	b, err := json.Marshal(answer)
	if err != nil {
		return []byte("{}") // no approval either
	}
	return b
}

// idempotencyKey returns the header Idempotency-Key, or "" if there is none.
func idempotencyKey(r *request) (string, error) {
	key, ok := middleware.SingleHeader(r.Ctx, schema.IdempotencyHeader)
	isPrintable := !strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' })
	if !ok || len(key) > schema.MaxName || !isPrintable {
		return "", &schema.FieldError{Field: schema.IdempotencyHeader, Detail: "must be one value of at most " + strconv.Itoa(schema.MaxName) + " printable ASCII characters"}
	}
	return strings.Clone(key), nil
}

// keyScope names the caller that an idempotency key belongs to. Without credentials that is the
// account whose program opened the connection.
func keyScope(by hub.Caller, cn *middleware.Conn) string {
	if by.Identity.IsAuthenticated() {
		return "ask " + by.Identity.Via + " " + by.Identity.Name
	}
	if uid, ok := cn.Owner(); ok {
		return "ask of account " + strconv.Itoa(int(uid))
	}
	return "ask from " + by.Remote.Addr().String()
}

// preferredWait reads the header Prefer: wait=N (RFC 7240). Other preferences are ignored.
func preferredWait(r *request) (wait time.Duration, ok bool) {
	for _, header := range r.Request().Header.PeekAll("Prefer") {
		for preference := range strings.SplitSeq(string(header), ",") {
			preference, _, _ = strings.Cut(preference, ";")
			name, value, _ := strings.Cut(preference, "=")
			n, err := strconv.Atoi(strings.Trim(value, ` "`))
			if strings.EqualFold(strings.TrimSpace(name), "wait") && err == nil && n >= 0 {
				return time.Duration(min(n, maxPreferredWait)) * time.Second, true
			}
		}
	}
	return 0, false
}

// unwrapField removes the member humanInTheLoop from the field of an error: the members of the
// question are those of the body.
func unwrapField(err error) error {
	var f *schema.FieldError
	if errors.As(err, &f) && strings.HasPrefix(f.Field, "humanInTheLoop.") {
		f.Field = strings.TrimPrefix(f.Field, "humanInTheLoop.")
	}
	return err
}
