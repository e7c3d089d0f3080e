package app

import (
	"errors"
	"fmt"

	"github.com/hookback/hookback/server/internal/traces"
)

// OTLP configures the collector that receives traces.
type OTLP struct {
	Endpoint    string // URL of the collector; empty: no traces
	HeadersFile string // file with one "Name: value" per line; empty: none
	Content     bool   // prompts, arguments and error messages too
}

// check validates the settings before anything is opened.
func (o *OTLP) check() error {
	if o.Endpoint == "" {
		if o.HeadersFile != "" || o.Content {
			return errors.New("-otlp-headers-file and -otlp-content require -otlp-endpoint")
		}
		return nil
	}
	if _, err := traces.ParseURL(o.Endpoint); err != nil {
		return fmt.Errorf("-otlp-endpoint %s: %w", o.Endpoint, err)
	}
	return nil
}

// newFollower returns the sender of traces; nil: none. ownPort is the hub's port.
func (o *OTLP) newFollower(cfg traces.Config, ownPort int) (_ *traces.Follower, err error) {
	if o.Endpoint == "" {
		return nil, nil
	}
	if cfg.Endpoint, err = traces.NewEndpoint(o.Endpoint, o.HeadersFile, []uint16{uint16(ownPort)}); err != nil {
		return nil, fmt.Errorf("-otlp-endpoint and -otlp-headers-file: %w", err)
	}
	cfg.Content = o.Content
	return traces.New(cfg), nil
}
