package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
)

const (
	signHeadEvery = time.Minute
	witnessEvery  = time.Hour
	witnessLimit  = 10 * time.Second // for one POST
)

var witnessFlags = []flagSpec{
	{"witness", "URL", "none", "webhook that receives the signed head of the audit log every hour; a private address also needs -notify-allow",
		func(c *Config, s string) error { c.Witness = s; return nil }},
}

func checkWitness(address string) error {
	u, err := url.Parse(address)
	if address != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return fmt.Errorf("-witness %s: must be the address of a webhook, such as https://witness.example.com/hookback", address)
	}
	return nil
}

// runLedgerHeads signs the head of the ledger every minute, and posts it to the witness every hour,
// until ctx ends. It starts with both.
func (a *App) runLedgerHeads(ctx context.Context) error {
	var posted time.Time
	for {
		if err := a.store.SignLedgerHead(ctx); err != nil && ctx.Err() == nil {
			a.log.Error("audit log head not signed", "retry_in", signHeadEvery, "err", err)
		}
		if now := a.cfg.Clock(); a.cfg.Witness != "" && now.Sub(posted).Abs() >= witnessEvery {
			switch err := a.postHead(ctx); {
			case err == nil:
				posted = now
			case ctx.Err() == nil && !errors.Is(err, schema.ErrNotFound):
				a.log.Warn("audit log head not sent to the witness", "retry_in", signHeadEvery, "err", err)
			}
		}
		if !feed.Sleep(ctx, signHeadEvery) {
			return nil
		}
	}
}

// postHead posts the newest head to the witness. It fails with schema.ErrNotFound if there is none.
func (a *App) postHead(ctx context.Context) error {
	head, err := a.store.LedgerHead(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, witnessLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.cfg.Witness, bytes.NewReader(head))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Hookback")
	resp, err := a.witness.Do(req)
	if err != nil {
		return withoutAddress(err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // drained, so that the connection can be reused
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("the witness answered %s", resp.Status)
	}
	return nil
}

// withoutAddress removes the address, which may contain a secret, from an HTTP client's error.
func withoutAddress(err error) error {
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}
