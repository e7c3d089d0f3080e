package chat

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"time"
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

// RefusalError is an error that a chat service answered.
type RefusalError struct {
	Service, Method string
	Code            int // the HTTP status that fits it
	Description     string
	RetryAfter      time.Duration // 429 only
}

func (r *RefusalError) Error() string {
	return fmt.Sprintf("%s refused %s: %d %s", r.Service, r.Method, r.Code, r.Description)
}

// IsPermanent reports whether a repetition would be refused as well.
func IsPermanent(err error) bool {
	var refused *RefusalError
	return errors.As(err, &refused) && refused.Code >= 400 && refused.Code < 500 &&
		refused.Code != http.StatusTooManyRequests && refused.Code != http.StatusRequestTimeout
}

// The delays between failed requests.
const (
	minBackoff = time.Second
	maxBackoff = 5 * time.Minute
)

// RetryDelay returns the delay after a number of failures in a row: that of the service, or 1 s to
// 5 min with a random part of a fifth.
func RetryDelay(err error, failures int) time.Duration {
	var refused *RefusalError
	if errors.As(err, &refused) && refused.RetryAfter > 0 {
		return refused.RetryAfter
	}
	d := min(minBackoff<<min(failures-1, 12), maxBackoff)
	jitter, err := rand.Int(rand.Reader, big.NewInt(int64(d/5)))
	if err != nil {
		return d
	}
	return d + time.Duration(jitter.Int64())
}
