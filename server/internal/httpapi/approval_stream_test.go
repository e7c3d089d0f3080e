package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
)

// eventSource reads server-sent events as browsers do.
type eventSource struct {
	t      *testing.T
	lines  *bufio.Scanner
	lastID string
	close  func()
}

func (r *harness) eventSource(t *testing.T, headers ...string) *eventSource {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.addr+inbox.PathApprovalFeed, nil)
	require.NoError(t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := r.client.Do(req)
	require.NoError(t, err)
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	require.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
	s := &eventSource{t: t, lines: bufio.NewScanner(resp.Body)}
	s.close = func() { cancel(); _ = resp.Body.Close() }
	t.Cleanup(s.close)
	return s
}

// next returns the next event; both are empty at the end of the stream.
func (s *eventSource) next() (name, data string) {
	s.t.Helper()
	for s.lines.Scan() {
		switch field, value, _ := strings.Cut(s.lines.Text(), ": "); {
		case field == "event":
			name = value
		case field == "data":
			data = value
		case field == "id":
			s.lastID = value
		case field == "" && data != "":
			return name, data
		}
	}
	return "", ""
}

func (s *eventSource) expect(name, data string) {
	s.t.Helper()
	gotName, gotData := s.next()
	require.Equal(s.t, name, gotName, gotData)
	require.JSONEq(s.t, data, gotData)
}

func TestApprovalStream_SendsRequiredAndResolved(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) { c.PingInterval = 50 * time.Millisecond })
	call := func(tool string) schema.EventID {
		return r.post(event(1, `"humanInTheLoop":{"question":"Execute `+tool+`?","type":"permission","toolCall":{"name":"`+tool+`","arguments":{"slug":"a b"}}}`)).ID
	}
	required := func(id schema.EventID, tool string) string {
		return fmt.Sprintf(`{"approvalId":"%d","toolName":%q,"input":{"slug":"a b"},"message":"Execute %s?"}`, id, tool, tool)
	}
	first := call("cms_deletePost")
	s := r.eventSource(t)
	s.expect("approval-required", required(first, "cms_deletePost"))
	r.post(event(2))
	r.post(event(3, `"humanInTheLoop":{"question":"Which?","type":"question"}`))
	second := call("http_post")
	s.expect("approval-required", required(second, "http_post"))
	r.expectOK(nil, "POST "+inbox.PathAgentApprove, fmt.Sprintf(`{"approvalId":"%d","approved":false,"reason":"User cancelled"}`, second))
	s.expect("approval-resolved", fmt.Sprintf(`{"approvalId":"%d","approved":false,"outcome":"deny","reason":"User cancelled"}`, second))

	third := call("cms_publishPost")
	s.expect("approval-required", required(third, "cms_publishPost"))
	r.post(event(4)) // the position moves behind it
	last := fmt.Sprint(r.store.Head())
	require.Eventually(t, func() bool { s.lines.Scan(); return s.lines.Text() == "id: "+last }, waitLimit, time.Millisecond)
	s.close()
	r.expectOK(nil, "POST "+inbox.PathAgentApprove, fmt.Sprintf(`{"approvalId":%d,"approved":true}`, first))
	fourth := call("cms_deleteImage")
	resumed := r.eventSource(t, "Last-Event-ID", last)
	resumed.expect("approval-resolved", fmt.Sprintf(`{"approvalId":"%d","approved":true,"outcome":"approve"}`, first))
	resumed.expect("approval-required", required(fourth, "cms_deleteImage"))

	for _, unknown := range []string{"99999", "-5", "x"} {
		anew := r.eventSource(t, "Last-Event-ID", unknown)
		anew.expect("approval-required", required(third, "cms_publishPost"))
		anew.expect("approval-required", required(fourth, "cms_deleteImage"))
		anew.close()
	}
}

func TestApprovalStream_NeedsAccessOfTheList(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	_, bound := r.createToken(ada, `{"name":"build","apps":["demo"]}`)
	for _, path := range []string{inbox.PathApprovals, inbox.PathApprovalFeed} {
		r.expectProblem("not_allowed", "GET "+path, "", bound...)
		r.expectProblem("sign_in", "GET "+path, "", "X-Forwarded-For", "203.0.113.7")
	}
	token, operator := r.createToken(ada, `{"name":"mine","person":"ada"}`)
	r.post(event(1, permission))
	s := r.eventSource(t, operator...)
	name, _ := s.next()
	require.Equal(t, "approval-required", name)
	r.expectOK(nil, "DELETE "+schema.PathTokens+"/"+token.ID, "", ada.headers()...)
	r.post(event(2, permission))
	name, data := s.next()
	require.Empty(t, name, data)
}
