package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/hookback/hookback/schema"
)

// get fetches url into v, unless that is nil.
func get(ctx context.Context, url string, v any) error { return call(ctx, "GET", url, nil, v) }

// post sends body to url and reads the answer into v, unless that is nil.
func post(ctx context.Context, url string, body, v any) error { return call(ctx, "POST", url, body, v) }

// call makes one request. A refusal is the schema's error.
func call(ctx context.Context, method, url string, body, v any) error {
	var sent io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, sent)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := web.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		var p schema.Problem
		if json.Unmarshal(got, &p) != nil {
			return fmt.Errorf("%s: %s", resp.Status, got)
		}
		return p.Err()
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal(got, v)
}
