package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// MaxReply limits a response of a chat service.
const MaxReply = 4 << 20

// Endpoint is the address of a method of a chat service.
type Endpoint struct {
	HTTP    *http.Client
	Service string
	URL     string
	Token   string // for the header Authorization; empty: no header
}

// Post posts params and returns the reply. The errors do not contain the address, which can contain a
// token.
func (e Endpoint) Post(ctx context.Context, params any) (*http.Response, []byte, error) {
	body, err := json.Marshal(params)
	if err != nil {
		return nil, nil, fmt.Errorf("encode a message to %s: %w", e.Service, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return nil, nil, fmt.Errorf("the address or the token of %s is not valid", e.Service)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	if e.Token != "" {
		req.Header.Set("Authorization", "Bearer "+e.Token)
	}
	resp, err := e.HTTP.Do(req)
	if err != nil {
		var withURL *url.Error
		if errors.As(err, &withURL) {
			err = withURL.Err
		}
		return nil, nil, fmt.Errorf("connect to %s: %w", e.Service, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, MaxReply))
	if err != nil {
		return nil, nil, fmt.Errorf("read the reply of %s: %w", e.Service, err)
	}
	return resp, text, nil
}
