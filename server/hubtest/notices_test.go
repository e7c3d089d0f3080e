package hubtest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// sendRequest sends a request, such as "GET /path", and returns the status and body of the
// response.
func sendRequest(t *testing.T, hub *hubtest.Hub, request string, body any) (status int, answer string) {
	return sendRequestAs(t, hub, nil, request, body)
}

// sendRequestAs is sendRequest with the credentials of a person.
func sendRequestAs(t *testing.T, hub *hubtest.Hub, credentials http.Header, request string, body any) (status int, answer string) {
	method, path, _ := strings.Cut(request, " ")
	text, err := json.Marshal(body)
	require.NoError(t, err)
	if body == nil {
		text = nil
	}
	req, err := http.NewRequestWithContext(t.Context(), method, hub.URL()+path, strings.NewReader(string(text)))
	require.NoError(t, err)
	maps.Copy(req.Header, credentials)
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodGet {
		req.Header.Set("Accept", "text/html")
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
}

func requestJSON[T any](t *testing.T, hub *hubtest.Hub, request string, body any) (v T) {
	return requestJSONAs[T](t, hub, nil, request, body)
}

func requestJSONAs[T any](t *testing.T, hub *hubtest.Hub, credentials http.Header, request string, body any) (v T) {
	status, answer := sendRequestAs(t, hub, credentials, request, body)
	require.Equal(t, 200, status, "%s: %s", request, answer)
	require.NoError(t, json.Unmarshal([]byte(answer), &v))
	return v
}

func TestChannel_NotifiesAndSurvivesRestart(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	ada := hub.Owner("ada")
	said := make(chan string, 10)
	far := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		said <- string(body)
	}))
	t.Cleanup(far.Close)
	made := requestJSONAs[schema.Channel](t, hub, ada, "POST /api/channels", schema.ChannelDraft{Name: "ops", URL: far.URL + "/hidden/path?key=hidden"})
	require.Equal(t, "webhook", made.Kind)
	require.Equal(t, far.URL, made.Address)
	require.True(t, strings.HasPrefix(made.Secret, "whsec_"))
	require.Equal(t, schema.ChannelTestResult{State: schema.NotificationSent}, requestJSONAs[schema.ChannelTestResult](t, hub, ada, fmt.Sprintf("POST /api/channels/%d/test", made.ID), nil))
	require.Contains(t, <-said, `"type":"test"`)

	event := requestJSON[schema.Event](t, hub, "POST /events", map[string]any{
		"source_app": "shop", "session_id": "s", "hook_event_type": "PermissionRequest", "payload": map[string]any{},
		"humanInTheLoop": map[string]any{"type": "permission", "question": "May I?"},
	})
	require.Contains(t, <-said, fmt.Sprintf(`"url":"%s/r/%d"`, strings.Replace(hub.URL(), "127.0.0.1", "localhost", 1), event.ID), "links use the host name for people")
	require.Eventually(t, func() bool {
		card := requestJSON[schema.Event](t, hub, fmt.Sprintf("GET /events/%d", event.ID), nil)
		n := card.HumanInTheLoopStatus.Notifications
		return len(n) == 1 && n[0].State == schema.NotificationSent && n[0].Channel == "ops"
	}, waitLimit, 10*time.Millisecond)

	hub.Restart()
	_, list := sendRequestAs(t, hub, ada, "GET /api/channels", nil)
	require.Contains(t, list, `"ops"`)
	require.NotContains(t, list, "hidden")
	require.NotContains(t, list, "whsec_")
	require.Empty(t, requestJSONAs[[]schema.Channel](t, hub, ada, fmt.Sprintf("DELETE /api/channels/%d", made.ID), nil))
	for _, request := range []string{"DELETE /api/channels/%d", "POST /api/channels/%d/test"} {
		status, problem := sendRequestAs(t, hub, ada, fmt.Sprintf(request, made.ID), nil)
		require.Equal(t, 404, status, problem)
	}
	_, ledger := sendRequest(t, hub, "GET /api/ledger?after=0", nil)
	require.Contains(t, ledger, `"channel.made"`)
	require.Contains(t, ledger, `"channel.removed"`)
	require.NotContains(t, ledger, "hidden")
}

func TestNotificationSettings_SurviveRestart(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	ada := hub.Owner("ada")
	want := schema.NotificationSettings{CooldownMinutes: 10, QuietFrom: "22:00", QuietTo: "07:00", TimeZone: "Europe/Berlin"}
	require.Equal(t, want, requestJSONAs[schema.NotificationSettings](t, hub, ada, "POST /api/channels/mine", want))
	hub.Restart()
	require.Equal(t, want, requestJSONAs[schema.NotificationSettings](t, hub, ada, "GET /api/channels/mine", nil))
	want.TimeZone = "nowhere"
	status, problem := sendRequestAs(t, hub, ada, "POST /api/channels/mine", want)
	require.Equal(t, 400, status)
	require.Contains(t, problem, `"field":"timeZone"`)
}

func TestPushSubscription_AddAndRemove(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	ada := hub.Owner("ada")
	key := requestJSON[schema.PushKey](t, hub, "GET /api/push/key", nil)
	browser := schema.PushSubscription{Endpoint: "https://push.example.com/send/hidden", Keys: schema.PushKeys{P256dh: key.Key, Auth: "tBHItJI5svbpez7KI4CCXg"}}
	require.Equal(t, 1, requestJSONAs[schema.NotificationSettings](t, hub, ada, "POST /api/push", browser).Browsers)
	require.Equal(t, 1, requestJSONAs[schema.NotificationSettings](t, hub, ada, "POST /api/push", browser).Browsers, "the same subscription again")
	hub.Restart()
	require.Equal(t, key, requestJSON[schema.PushKey](t, hub, "GET /api/push/key", nil))
	_, mine := sendRequestAs(t, hub, ada, "GET /api/channels/mine", nil)
	require.NotContains(t, mine, "hidden")
	require.Zero(t, requestJSONAs[schema.NotificationSettings](t, hub, ada, "DELETE /api/push", schema.PushSubscription{Endpoint: browser.Endpoint}).Browsers)
	browser.Endpoint = hub.URL() + "/events"
	status, _ := sendRequestAs(t, hub, ada, "POST /api/push", browser)
	require.Equal(t, 400, status, "a subscription cannot make the hub call itself")
}

func TestSignedLink_GetDecidesNothing(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	event := requestJSON[schema.Event](t, hub, "POST /events", map[string]any{
		"source_app": "shop", "session_id": "s", "hook_event_type": "PermissionRequest", "payload": map[string]any{},
		"humanInTheLoop": map[string]any{"type": "permission", "question": "May I?"},
	})
	for range 3 { // as a mail scanner does
		status, page := sendRequest(t, hub, fmt.Sprintf("GET /hitl/%d/vote", event.ID), nil)
		require.Equal(t, 200, status)
		require.Contains(t, strings.ToLower(page), "<!doctype html>")
	}
	for _, path := range []string{"link", "vote"} {
		status, problem := sendRequest(t, hub, fmt.Sprintf("POST /hitl/%d/%s", event.ID, path), schema.LinkVote{Token: "eyJwIjoiYWRhIn0.forged"})
		require.Equal(t, 403, status, problem)
		require.Contains(t, problem, `"field":"token"`)
		require.Contains(t, problem, "sign in")
		status, _ = sendRequest(t, hub, fmt.Sprintf("POST /hitl/%d/%s", event.ID+1000, path), schema.LinkVote{})
		require.Equal(t, 404, status)
	}
	card := requestJSON[schema.Event](t, hub, fmt.Sprintf("GET /events/%d", event.ID), nil)
	require.Equal(t, schema.Pending, card.HumanInTheLoopStatus.Status)
}
