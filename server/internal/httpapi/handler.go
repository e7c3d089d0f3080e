package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/routes"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/hub"
)

// handler serves the requests of one row of the route table.
type handler struct {
	serve          func(r *request) error
	takes, returns reflect.Type // of the bodies; nil: the handler reads or writes the body itself
}

// request is a request that passed the checks of its row.
type request struct {
	context.Context
	*fiber.Ctx
	row *routes.Route
	by  hub.Caller
}

// none is the body of a route without one.
type none struct{}

// handle returns the handler of a route whose body is a Req. Resp is encoded as JSON, unless it is []byte.
func handle[Req, Resp any](operation func(r *request, body Req) (Resp, error)) handler {
	return withBody(false, operation)
}

// optional is like handle for a body that may be absent.
func optional[Req, Resp any](operation func(r *request, body Req) (Resp, error)) handler {
	return withBody(true, operation)
}

func withBody[Req, Resp any](mayBeEmpty bool, operation func(r *request, body Req) (Resp, error)) handler {
	return handler{func(r *request) error {
		body, err := decode[Req](r.Request().Body(), mayBeEmpty)
		if err != nil {
			return err
		}
		return r.reply(operation(r, body))
	}, reflect.TypeFor[Req](), reflect.TypeFor[Resp]()}
}

// byID is like optional for a path with a number as :id.
func byID[Req, Resp any](operation func(r *request, id schema.EventID, body Req) (Resp, error)) handler {
	return handler{func(r *request) error {
		id, err := eventID(r.Ctx)
		if err != nil {
			return err
		}
		body, err := decode[Req](r.Request().Body(), true)
		if err != nil {
			return err
		}
		return r.reply(operation(r, id, body))
	}, reflect.TypeFor[Req](), reflect.TypeFor[Resp]()}
}

// get returns the handler of a route without parameters.
func get[Resp any](operation func(context.Context) (Resp, error)) handler {
	return handle(func(r *request, _ none) (Resp, error) { return operation(r) })
}

// raw returns a handler that reads and writes the bodies itself.
func raw(serve func(r *request) error) handler { return handler{serve: serve} }

// fits reports whether h has the types of its row.
func (h *handler) fits(row *routes.Route) bool {
	return h.serve != nil && isTypeOf(h.takes, row.Request) && isTypeOf(h.returns, row.Response)
}

func isTypeOf(have reflect.Type, want any) bool {
	switch have {
	case nil, reflect.TypeFor[[]byte](), reflect.TypeFor[json.RawMessage]():
		return true
	case reflect.TypeFor[none]():
		return want == nil
	}
	if have.Kind() == reflect.Pointer {
		have = have.Elem()
	}
	return have == reflect.TypeOf(want)
}

// number returns an integer query parameter.
func (r *request) number(name string) int64 { return middleware.Number(r.Ctx, r.row, name) }

// person returns the name of the caller, or "".
func (r *request) person() string { return r.by.Identity.Name }

// reply sends the result of an operation, or returns its error.
func (r *request) reply(result any, err error) error {
	if err != nil {
		return err
	}
	body, isEncoded := result.([]byte)
	if !isEncoded {
		if body, err = json.Marshal(result); err != nil {
			return err
		}
	}
	r.Status(r.row.Success())
	return r.sendJSON(body)
}

func (r *request) sendJSON(body []byte) error {
	r.Response().Header.SetContentType(fiber.MIMEApplicationJSON)
	r.Response().SetBodyRaw(body)
	return nil
}

// identityLocal is the key under which requireAccess stores the identity for caller.
const identityLocal = "who"

func caller(c *fiber.Ctx) hub.Caller {
	by := hub.Caller{Remote: middleware.AddrPortOf(c.Context().RemoteAddr()), Local: middleware.AddrPortOf(c.Context().LocalAddr())}
	if cn, ok := c.Context().Conn().(*middleware.Conn); ok {
		by.Process, by.Connection = cn.Process, &cn.Opener
	}
	by.Identity, _ = c.Locals(identityLocal).(auth.Identity)
	return by
}

func eventID(c *fiber.Ctx) (schema.EventID, error) {
	id, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil || id < 1 {
		return 0, schema.ErrNotFound
	}
	return schema.EventID(id), nil
}

// decode decodes a body. See unmarshal.
func decode[T any](body []byte, mayBeEmpty bool) (v T, err error) {
	if reflect.TypeFor[T]() != reflect.TypeFor[none]() && (len(body) > 0 || !mayBeEmpty) {
		err = unmarshal(body, &v)
	}
	return v, err
}

// maxTopLevelTokens limits the names and values at the top level of a body that is decoded
// into a struct, because each costs a map entry while decoding. A version 1 client sends a
// few dozen.
const maxTopLevelTokens = 4 * schema.MaxExtra

// unmarshal decodes a JSON body into v. It returns a *schema.FieldError for invalid input.
// It checks the body's shape first without allocating, so that a hostile body costs no
// memory.
func unmarshal(body []byte, v any) error {
	body, _ = schema.ReplaceHalfSurrogates(body)
	if err := checkShape(body); err != nil {
		return err
	}
	err := json.Unmarshal(body, v)
	var field *schema.FieldError
	var mistyped *json.UnmarshalTypeError
	switch {
	case err == nil, errors.As(err, &field):
		return err
	case errors.As(err, &mistyped) && mistyped.Field != "":
		return &schema.FieldError{Field: mistyped.Field, Detail: "must be a " + mistyped.Type.String()}
	case errors.As(err, &mistyped):
		return &schema.FieldError{Detail: "must be a JSON object"}
	default:
		return &schema.FieldError{Detail: "is not valid JSON"}
	}
}

func checkShape(body []byte) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	for top := 0; ; {
		_, err := dec.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil // json.Unmarshal rejects an empty body and a second value
		case err != nil:
			return &schema.FieldError{Detail: "is not valid JSON in UTF-8"}
		case dec.StackDepth() > schema.MaxDepth:
			return &schema.FieldError{Detail: "is nested too deeply"}
		case dec.StackDepth() == 1:
			if top++; top > maxTopLevelTokens {
				return &schema.FieldError{Detail: "has too many members"}
			}
		}
	}
}
