package traces

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hookback/hookback/server/internal/netguard"
)

const (
	// sendTimeout limits one request.
	sendTimeout = 10 * time.Second
	// maxHeaders limits the file with the headers.
	maxHeaders = 64 << 10
)

// Endpoint is where traces go.
type Endpoint struct {
	url    string
	header http.Header
	client *http.Client
}

// NewEndpoint returns the endpoint of a collector: its base URL, to which /v1/traces is added, or the full
// URL. headersFile names a file with one "Name: value" per line; empty: none. The hub connects to this
// host only, which may be on this machine, and never to its own ports.
func NewEndpoint(address, headersFile string, ownPorts []uint16) (*Endpoint, error) {
	u, err := ParseURL(address)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(u.Path, "/v1/traces") {
		u = u.JoinPath("v1", "traces")
	}
	port := u.Port()
	port = cmp.Or(port, map[string]string{"http": "80", "https": "443"}[u.Scheme])
	allow := []string{u.Hostname() + ":" + port}
	if strings.Contains(u.Hostname(), ":") {
		allow = []string{"[" + u.Hostname() + "]:" + port}
	}
	guard, err := netguard.New(netguard.Config{Allow: allow, OwnPorts: ownPorts})
	if err != nil {
		return nil, err
	}
	header, err := readHeaders(headersFile)
	if err != nil {
		return nil, err
	}
	header.Set("Content-Type", "application/json")
	return &Endpoint{u.String(), header, guard.HTTPClient()}, nil
}

// ParseURL parses the address of a collector.
func ParseURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("must be the address of a collector, such as http://127.0.0.1:4318")
	}
	return u, nil
}

func readHeaders(file string) (http.Header, error) {
	header := http.Header{}
	if file == "" {
		return header, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxHeaders+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxHeaders {
		return nil, fmt.Errorf("%s is larger than 64 KiB", file)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, content, found := strings.Cut(line, ":")
		name, content = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(content)
		if !found || !isToken(name) || strings.ContainsFunc(content, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return nil, fmt.Errorf("line %d of %s must be Name: value", n, file) // without the value, which may be secret
		}
		header.Add(name, content)
	}
	return header, nil
}

// isToken reports whether a text may be the name of a header.
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// errRejected is wrapped by errors that another attempt does not mend.
var errRejected = errors.New("the collector rejected the spans")

// send posts a body. rejected is the number of spans that the collector did not take.
func (e *Endpoint) send(ctx context.Context, body []byte) (rejected int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header = e.header.Clone()
	resp, err := e.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // a longer one is no JSON then
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted:
		return rejectedSpans(text), err
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return 0, fmt.Errorf("%w: %s", errRejected, resp.Status)
	}
	return 0, fmt.Errorf("the collector answered %s", resp.Status)
}

// rejectedSpans reads the number of rejected spans of a partial success, a number or a string.
func rejectedSpans(body []byte) int64 {
	var answer struct {
		PartialSuccess struct {
			RejectedSpans json.RawMessage `json:"rejectedSpans"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.Trim(string(answer.PartialSuccess.RejectedSpans), `"`), 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}
