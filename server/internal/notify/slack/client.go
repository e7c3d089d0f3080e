package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/hookback/hookback/server/internal/notify/chat"
)

// callTimeout limits a request.
const callTimeout = 15 * time.Second

// client calls the Web API of Slack.
type client struct {
	http *http.Client
	base string
}

// problems are the errors of the Web API that are not about one message, with the HTTP status that
// fits them. Source: the lists of errors at https://docs.slack.dev/reference/methods.
var problems = map[string]int{
	"ratelimited": http.StatusTooManyRequests, "rate_limited": http.StatusTooManyRequests,
	"internal_error": http.StatusInternalServerError, "fatal_error": http.StatusInternalServerError,
	"service_unavailable": http.StatusServiceUnavailable, "request_timeout": http.StatusRequestTimeout,
	"team_added_to_org": http.StatusServiceUnavailable,
	"invalid_auth":      http.StatusUnauthorized, "not_authed": http.StatusUnauthorized, "token_revoked": http.StatusUnauthorized,
	"token_expired": http.StatusUnauthorized, "account_inactive": http.StatusUnauthorized, "not_allowed_token_type": http.StatusUnauthorized,
	"missing_scope": http.StatusForbidden, "no_permission": http.StatusForbidden, "org_login_required": http.StatusForbidden,
	"access_denied": http.StatusForbidden, "forbidden_team": http.StatusForbidden,
}

// call calls a method with a token. Its errors do not contain the token.
func (c *client) call(ctx context.Context, method, token string, params, result any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, text, err := chat.Endpoint{HTTP: c.http, Service: Via, URL: c.base + "/" + method, Token: token}.Post(ctx, params)
	if err != nil {
		return err
	}
	refused := &chat.RefusalError{Service: Via, Method: method, Code: resp.StatusCode}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		refused.RetryAfter = time.Duration(seconds) * time.Second
	}
	var reply struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	err = json.Unmarshal(text, &reply)
	switch {
	case resp.StatusCode >= 400:
		refused.Description = reply.Error
		return refused
	case err != nil:
		return fmt.Errorf("read the reply of slack: %w", err)
	case !reply.OK:
		refused.Code, refused.Description = http.StatusBadRequest, reply.Error
		if code := problems[reply.Error]; code != 0 {
			refused.Code = code
		}
		return refused
	case result == nil:
		return nil
	}
	return json.Unmarshal(text, result)
}

// The messages of the socket, with the members that the bot uses.

type envelope struct {
	Type    string          `json:"type"` // hello, disconnect, interactive, events_api
	ID      string          `json:"envelope_id"`
	Reason  string          `json:"reason"` // of a disconnect
	Payload json.RawMessage `json:"payload"`
}

// interaction is the payload of an interactive envelope.
type interaction struct {
	Type string `json:"type"` // block_actions
	Team struct {
		ID string `json:"id"`
	} `json:"team"`
	User struct {
		ID   string `json:"id"`
		Team string `json:"team_id"`
	} `json:"user"`
	Container struct {
		Channel string `json:"channel_id"`
	} `json:"container"`
	Actions []struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	} `json:"actions"`
}

// isFrom reports whether a member of a workspace pressed the button there.
func (i *interaction) isFrom(team string) bool { return i.Team.ID == team && i.User.Team == team }

// callback is the payload of an events_api envelope.
type callback struct {
	Event struct {
		Type        string `json:"type"`
		Subtype     string `json:"subtype"`
		ChannelType string `json:"channel_type"`
		Channel     string `json:"channel"`
		User        string `json:"user"`
		Bot         string `json:"bot_id"`
		Text        string `json:"text"`
	} `json:"event"`
}
