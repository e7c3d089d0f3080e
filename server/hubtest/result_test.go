package hubtest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/hubtest"
)

// A card shows the result of an approved call as the agent's next event of that call reports it.
func TestCallResult_OfApprovedCall(t *testing.T) {
	t.Parallel()
	h := &reportHub{Hub: hubtest.Start(t), t: t}
	result := func(name, toolCall, typ, end string) *history.CallResult {
		t.Helper()
		call := fmt.Sprintf(`"tool_name":"Bash","tool_use_id":%q`, name)
		id := h.post(name, "PermissionRequest", call+`,"payload":{"cwd":"/srv/app"},"humanInTheLoop":{"question":"Run it?","type":"permission",
			"toolCall":{"name":"Bash","arguments":{"command":"rm -rv data"}`+toolCall+`}}`).ID
		var read history.QuestionContext
		require.Equal(t, 200, fetch(t, "GET "+h.URL()+schema.At(schema.PathContext, id), "", &read))
		require.Nil(t, read.Result, "before its end")
		require.Equal(t, 200, fetch(t, "POST "+h.URL()+schema.At(schema.PathRespond, id), `{"permission":true}`, &schema.Event{}))
		h.post(name, typ, call+`,"payload":{"cwd":"/srv/app",`+end+`}`)
		require.Eventually(t, func() bool {
			read = history.QuestionContext{}
			return fetch(t, "GET "+h.URL()+schema.At(schema.PathContext, id), "", &read) == 200 && read.Result != nil
		}, time.Minute, 10*time.Millisecond)
		return read.Result
	}
	quote := func(text string) string { b, _ := json.Marshal(text); return string(b) }
	const consequence = `,"consequence":{"sentences":["Removes 2 files."],"files":2,"changes":["/srv/app/data"]}`

	var long []string
	for i := range 30 {
		long = append(long, fmt.Sprint("line ", i))
	}
	r := result("long", "", "PostToolUse", `"tool_response":{"stdout":`+quote(strings.Join(long, "\n")+"\n")+`,"stderr":"","exit_code":0}`)
	require.Equal(t, long[10:], r.Lines)
	require.EqualValues(t, 10, r.MoreLines)
	require.Equal(t, new(int64(0)), r.ExitStatus)
	require.Empty(t, r.Differs)

	r = result("hostile", "", "PostToolUse", `"tool_response":`+quote("\x1b[31mred\x1b[0m\x1b]0;title\x07\n10 %\r100 %\r\nevil\u202e\u200b\x00end\n"+strings.Repeat("é", 5000)))
	require.Equal(t, []string{"red", "100 %", "evilend", strings.Repeat("é", 300) + "…"}, r.Lines)
	require.Nil(t, r.ExitStatus)

	r = result("failed", "", "PostToolUseFailure", `"error":"Exit code 7\nNo such file"`)
	require.Equal(t, []string{"Exit code 7", "No such file"}, r.Lines)
	require.Equal(t, new(int64(7)), r.ExitStatus)

	r = result("cut", "", "PostToolUse", `"tool_response":`+quote(`{"output":"the text of a response that was cut`))
	require.Equal(t, []string{`{"output":"the text of a response that was cut`}, r.Lines, "as it arrived")

	r = result("big", "", "PostToolUse", `"tool_response":{"content":[{"type":"text","text":`+quote(strings.Repeat("x\n", schema.MaxListed)+"end")+`}]}`)
	require.Len(t, r.Lines, 20)
	require.Equal(t, "end", r.Lines[19])

	r = result("as announced", consequence, "PostToolUse", `"tool_response":{"stdout":"removed 'data/a'\nremoved 'data/b'","filePath":"data/a"}`)
	require.Empty(t, r.Differs)
	require.Equal(t, []string{"/srv/app/data/a"}, r.Files)

	r = result("more", consequence, "PostToolUse", `"tool_response":{"stdout":"removed 'data/a'\nremoved 'data/b'\nremoved 'x'","filePath":"/srv/app/data/../other.go"}`)
	require.Equal(t, []string{
		"It reported 3 deleted files; 2 were announced.", "It changed /srv/app/other.go, which was not announced.",
	}, r.Differs)

	r = result("partial", strings.Replace(consequence, `"files":2`, `"files":2,"partial":true`, 1), "PostToolUse", `"tool_response":{"stdout":"removed 'a'\nremoved 'b'\nremoved 'c'"}`)
	require.Empty(t, r.Differs, "a lower bound")
}
