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

// get decodes the response of url into v, which may be nil.
func get(ctx context.Context, url string, v any) error { return call(ctx, "GET", url, nil, v) }

// post sends body to url and decodes the response into v, which may be nil.
func post(ctx context.Context, url string, body, v any) error { return call(ctx, "POST", url, body, v) }

// call makes one request. A problem response becomes its error of package schema.
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
	resp, err := httpClient.Do(req)
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
