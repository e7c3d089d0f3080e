package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/netguard"
)

const webhookSecretPrefix = "whsec_"

// webhookBody is a Standard Webhooks payload. Text from agents is not escaped beyond JSON.
type webhookBody struct {
	Type      string `json:"type"` // request.asked, request.reminder, request.escalated, account.changed, alert.opened, or test
	Timestamp string `json:"timestamp"`
	Data      struct {
		ID        schema.EventID `json:"id,omitempty"`
		URL       string         `json:"url"` // of the question in the dashboard
		SourceApp string         `json:"source_app,omitempty"`
		OnlyOn    string         `json:"onlyOn,omitempty"` // name of the only machine where url works
		SessionID string         `json:"session_id,omitempty"`
		Kind      schema.Kind    `json:"kind,omitempty"`
		Question  string         `json:"question"`
		ToolName  string         `json:"tool_name,omitempty"`
		Risk      schema.Risk    `json:"risk,omitempty"`
		ExpiresAt schema.Millis  `json:"expiresAt,omitempty"`
		Reminder  int            `json:"reminder,omitempty"`
		Person    string         `json:"person,omitempty"`
		Ledger    *ledgerHead    `json:"ledger,omitempty"`
	} `json:"data"`
}

func (m *message) webhookBody() ([]byte, error) {
	h := webhookBody{Type: "request." + m.kind, Timestamp: m.createdAt.UTC().Format("2006-01-02T15:04:05.000Z")}
	switch {
	case m.isTest:
		h.Type = "test"
	case m.isAccount:
		h.Type = "account.changed"
	case m.isReport:
		h.Type = "report"
	case m.isAlert:
		h.Type = "alert.opened"
	}
	if m.asked != nil {
		h.Data.ID = m.asked.ID
	}
	h.Data.URL, h.Data.SourceApp, h.Data.SessionID = m.url, m.app, m.session
	h.Data.OnlyOn = m.onlyOn
	h.Data.Kind, h.Data.Question, h.Data.ToolName, h.Data.Risk = m.questionKind, m.text, m.tool, m.risk
	h.Data.Reminder, h.Data.Person, h.Data.Ledger = m.reminder, m.person, m.ledger
	if !m.deadline.IsZero() {
		h.Data.ExpiresAt = schema.Millis(m.deadline.UnixMilli())
	}
	return json.Marshal(h)
}

var webhookKind = kind{
	name: "webhook", schemes: []string{"http", "https"}, example: "https://…", showsHost: true, isSigned: true,
	parse: func(address string) (target, error) {
		u, err := url.Parse(address)
		return target{driver: webhook{address: u}}, err
	},
}

type webhook struct {
	oneWay
	address *url.URL
}

func (h webhook) check(g *netguard.Guard) error { return g.CheckURL(h.address) }

// send posts a message as a Standard Webhook. The id is the same for every attempt,
// so that receivers can deduplicate.
func (webhook) send(ctx context.Context, o *outlet, m *message) error {
	body, err := m.webhookBody()
	if err != nil {
		return permanentError{err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.channel.URL, bytes.NewReader(body))
	if err != nil {
		return permanentError{err}
	}
	id := fmt.Sprintf("msg_%s_%d", o.Store.HubID(), m.id)
	if m.id == 0 { // neither a test nor an announcement is sent again
		id = "msg_once_" + strconv.FormatInt(m.createdAt.UnixNano(), 36)
	}
	at := strconv.FormatInt(o.Clock().Unix(), 10)
	signature, err := signWebhook(o.channel.Secret, id+"."+at+"."+string(body))
	if err != nil {
		return permanentError{err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Hookback")
	req.Header.Set("webhook-id", id)
	req.Header.Set("webhook-timestamp", at)
	req.Header.Set("webhook-signature", signature)
	resp, err := o.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // drained, so that the connection can be reused
	return checkResponse(resp)
}

// signWebhook returns a Standard Webhooks signature, version 1.
func signWebhook(secret, text string) (string, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, webhookSecretPrefix))
	if err != nil {
		return "", fmt.Errorf("decode channel secret: %w", err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}
