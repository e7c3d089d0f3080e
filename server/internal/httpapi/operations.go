package httpapi

import (
	"context"
	_ "embed" // licenses.txt
	"fmt"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/store"
)

// operationHandlers returns the handlers of the routes that operate a hub.
func (s *Server) operationHandlers() map[string]handler {
	metrics := s.Metrics.handler()
	return map[string]handler{
		"GET " + schema.PathHub: handle(s.hubKey),
		"GET " + schema.PathHealth: handle(func(r *request, _ none) (schema.Health, error) {
			return s.visibleHealth(r, schema.Health{Status: "ok"}), nil
		}),
		"GET " + schema.PathReady:    raw(s.ready),
		"GET " + schema.PathMetrics:  raw(func(r *request) error { return metrics(r.Ctx) }),
		"GET " + schema.PathOpenAPI:  handle(s.openAPI),
		"GET " + schema.PathLicenses: raw(licenses),
	}
}

// hubKey returns the hub's identity. The nonce is chosen by the caller, who may be anyone.
func (s *Server) hubKey(r *request, _ none) ([]byte, error) {
	nonce := r.Query("nonce")
	if nonce != "" {
		if err := sign.CheckNonce(nonce); err != nil {
			return nil, err
		}
	}
	return s.Query.HubKey(r, nonce)
}

// visibleHealth returns the part of h that the caller may see.
func (s *Server) visibleHealth(r *request, h schema.Health) schema.Health {
	if h.Version = s.Version; middleware.HasForeignHost(r.Ctx) {
		h = schema.Health{Status: h.Status}
	}
	return h
}

// statsTimeout is short, because load balancers take a late answer of the readiness check as a bad one.
const statsTimeout = 500 * time.Millisecond

// ready reports whether events can be stored: 200 or 503. Load balancers and startup
// scripts check the status code only.
func (s *Server) ready(r *request) error {
	h := schema.Health{Status: "ok"}
	ctx, cancel := context.WithTimeout(r, statsTimeout)
	defer cancel()
	stats, err := s.Store.Stats(ctx)
	switch {
	case s.stopping.Err() != nil:
		h.Status = "stopping"
	case s.draining.Load():
		h.Status = "draining"
	case stats.Fault != "":
		h.Status, h.Detail = "degraded", stats.Fault
	case err != nil:
		h.Status, h.Detail = "degraded", "the database does not respond"
	case stats.DiskLow:
		h.Status, h.Detail = "degraded", fmt.Sprintf("the disk is nearly full: questions and answers are stored as long as the last %d MiB suffice, other events are not", stats.LeftBytes>>20)
	}
	if h.Status == "ok" {
		h.Detail = lagWarning(&stats)
	}
	err = r.reply(s.visibleHealth(r, h), nil)
	if h.Status != "ok" {
		r.Status(fiber.StatusServiceUnavailable)
	}
	return err
}

// lagWarning returns which results are out of date or slow; empty: none.
func lagWarning(stats *store.Stats) string {
	const tolerable = 10 * time.Second
	var late []string
	if lag := stats.Projections.Time; lag > tolerable {
		late = append(late, fmt.Sprintf("sessions and statistics are %.0f seconds behind", lag.Seconds()))
	}
	if lag := stats.SearchIndex.Time; lag > tolerable {
		late = append(late, fmt.Sprintf("the search index is %.0f seconds behind", lag.Seconds()))
	}
	return strings.Join(late, "; ")
}

func (s *Server) openAPI(*request, none) ([]byte, error) {
	if s.OpenAPI == nil {
		return nil, schema.ErrNoRoute
	}
	return s.OpenAPI, nil
}

// licenseNotices is written by go run ./scripts/licenses.
//
//go:embed licenses.txt
var licenseNotices string

func licenses(r *request) error {
	if middleware.IsPageRequest(r.Ctx) {
		return r.Next()
	}
	r.Set(fiber.HeaderContentType, "text/plain; charset=utf-8")
	return r.SendString(licenseNotices)
}
