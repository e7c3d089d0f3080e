package delivery

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
)

// maxHandshake bounds the listener's handshake response, in bytes.
const maxHandshake = 16 << 10

// handshaker is an http.RoundTripper for one request on one connection, which the dial policy
// checks. It uses no proxy, HTTP/2, pool or compression.
type handshaker struct {
	policy *DialPolicy
	target target
	conn   net.Conn // below TLS; set once connected
}

func (h *handshaker) RoundTrip(req *http.Request) (*http.Response, error) {
	transport := &http.Transport{
		// The transport's own context outlives the request, for other requests to use the connection.
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			conn, err := h.policy.connect(req.Context(), h.target)
			h.conn = conn
			return conn, err
		},
		TLSClientConfig:        &tls.Config{ServerName: h.target.host, MinVersion: tls.VersionTLS12},
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHandshake,
	}
	resp, err := transport.RoundTrip(req)
	if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
		_ = resp.Body.Close() // a refusal's text is not used, and a slow one would hold the worker
		resp.Body = http.NoBody
	}
	return resp, err
}
