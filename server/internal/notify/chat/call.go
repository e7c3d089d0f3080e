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

// PostJSON posts params to a method of a service and returns its reply. The errors do not contain
// the address, which can contain a token.
func PostJSON(ctx context.Context, client *http.Client, service, address, token string, params any) (*http.Response, []byte, error) {
	body, err := json.Marshal(params)
	if err != nil {
		return nil, nil, fmt.Errorf("encode a message to %s: %w", service, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, nil, fmt.Errorf("the address or the token of %s is not valid", service)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		var withURL *url.Error
		if errors.As(err, &withURL) {
			err = withURL.Err
		}
		return nil, nil, fmt.Errorf("connect to %s: %w", service, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, MaxReply))
	if err != nil {
		return nil, nil, fmt.Errorf("read the reply of %s: %w", service, err)
	}
	return resp, text, nil
}
