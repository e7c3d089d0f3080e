package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hookback/hookback/server/internal/notify/chat"
)

const (
	// pollWait is how long Telegram holds a request for updates.
	pollWait = 50 * time.Second
	// callTimeout limits every other request, and what a poll takes beyond pollWait.
	callTimeout = 15 * time.Second
)

// client calls the Bot API.
type client struct {
	http  *http.Client
	base  string
	token string
}

// call calls a method. Its errors do not contain the token.
func (c *client) call(ctx context.Context, method string, wait time.Duration, params, result any) error {
	ctx, cancel := context.WithTimeout(ctx, wait+callTimeout)
	defer cancel()
	address := c.base + "/bot" + url.PathEscape(c.token) + "/" + method
	resp, text, err := chat.Endpoint{HTTP: c.http, Service: Via, URL: address}.Post(ctx, params)
	if err != nil {
		return err
	}
	var reply struct {
		OK          bool            `json:"ok"`
		Result      json.RawMessage `json:"result"`
		ErrorCode   int             `json:"error_code"`
		Description string          `json:"description"`
		Parameters  struct {
			RetryAfter int `json:"retry_after"`
		} `json:"parameters"`
	}
	if err := json.Unmarshal(text, &reply); err != nil {
		if resp.StatusCode >= 400 {
			return &chat.RefusalError{Service: Via, Method: method, Code: resp.StatusCode}
		}
		return fmt.Errorf("read the reply of telegram: %w", err)
	}
	if !reply.OK {
		return &chat.RefusalError{
			Service: Via, Method: method, Code: max(reply.ErrorCode, resp.StatusCode), Description: reply.Description,
			RetryAfter: time.Duration(reply.Parameters.RetryAfter) * time.Second,
		}
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(reply.Result, result)
}

// The objects of the Bot API, with the members that the bot uses.

type update struct {
	ID       int64          `json:"update_id"`
	Message  *chatMessage   `json:"message"`
	Callback *callbackQuery `json:"callback_query"`
}

type user struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	Username  string `json:"username"`
}

// account returns the name of the account in the list of linked accounts.
func (u *user) account() string { return strconv.FormatInt(u.ID, 10) }

type place struct {
	ID   int64  `json:"id"`
	Type string `json:"type"`
}

type chatMessage struct {
	ID      int64        `json:"message_id"`
	From    *user        `json:"from"`
	Chat    place        `json:"chat"`
	Text    string       `json:"text"`
	ReplyTo *chatMessage `json:"reply_to_message"`
}

type callbackQuery struct {
	ID      string       `json:"id"`
	From    user         `json:"from"`
	Message *chatMessage `json:"message"`
	Data    string       `json:"data"`
}

type keyboard struct {
	Rows [][]key `json:"inline_keyboard"`
}

type key struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// entity marks a part of a text. Telegram makes no links in a "pre" entity.
type entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
}
