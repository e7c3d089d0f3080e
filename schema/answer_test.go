package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// answerableQuestions has one question for each way to answer.
var answerableQuestions = map[string]string{
	"permission":   `{"question":"?","type":"permission"}`,
	"text":         `{"question":"?","type":"question"}`,
	"choice":       `{"question":"?","type":"choice","choices":["Jest","Vitest"]}`,
	"editable":     `{"question":"?","type":"permission","toolCall":{"name":"Bash","editable":true,"arguments":{"command":"ls"}}}`,
	"fixed":        `{"question":"?","type":"permission","toolCall":{"name":"Bash","arguments":{"command":"ls"}}}`,
	"why if no":    `{"question":"?","type":"permission","reasonRequired":"deny"}`,
	"why":          `{"question":"?","type":"choice","choices":["a"],"reasonRequired":"always"}`,
	"never why":    `{"question":"?","type":"permission","reasonRequired":"never"}`,
	"offers":       `{"question":"?","type":"permission","suggestions":[{"type":"setMode","n":1.0,"rule":"a \u003e b"},{"type":"other"}]}`,
	"several":      `{"question":"?","type":"question","questions":[{"id":"db","question":"?","options":[{"label":"SQLite"},{"label":"Postgres"}]}]}`,
	"pick many":    `{"question":"?","type":"question","questions":[{"id":"x","question":"?","options":[{"label":"a"},{"label":"b"}],"multiple":true}]}`,
	"own words":    `{"question":"?","type":"question","questions":[{"id":"x","question":"?","options":[{"label":"a"}],"multiple":true,"allowOther":true}]}`,
	"text in many": `{"question":"?","type":"question","questions":[{"id":"a","question":"?"},{"id":"b","question":"?"}]}`,
}

func TestHumanInTheLoop_CheckResponse(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return `"` + strings.Repeat("x", n+1) + `"` }
	for _, c := range []struct{ question, answer, field string }{
		{"permission", `{"permission":true}`, ""},
		{"permission", `{"permission":false}`, ""},
		{"permission", `{}`, "permission"},
		{"permission", `{"permission":null}`, "permission"},
		{"permission", `{"response":"yes"}`, "permission"},
		{"permission", `{"permission":true,"choice":"approve"}`, "choice"},
		{"permission", `{"permission":true,"response":"and more"}`, "response"},
		{"permission", `{"permission":true,"answers":{}}`, "answers"},
		{"text", `{"response":"Use snake_case for functions"}`, ""},
		{"text", `{"response":" "}`, "response"},
		{"text", `{"response":` + long(schema.MaxText) + `}`, "response"},
		{"text", `{"permission":true}`, "response"},
		{"text", `{"answers":{}}`, "response"},
		{"choice", `{"choice":"Vitest"}`, ""},
		{"choice", `{"choice":"Mocha"}`, "choice"},
		{"choice", `{"choice":"vitest"}`, "choice"},
		{"choice", `{"choice":"__timeout__"}`, "choice"},
		{"choice", `{"choice":""}`, "choice"},
		{"choice", `{"permission":true}`, "choice"},
		{"editable", `{"permission":true,"modifiedArguments":{"command":"ls -l"}}`, ""},
		{"editable", `{"permission":true}`, ""},
		{"editable", `{"permission":false,"modifiedArguments":{"command":"ls -l"}}`, "modifiedArguments"},
		{"editable", `{"permission":true,"modifiedArguments":"ls"}`, "modifiedArguments"},
		{"editable", `{"permission":true,"modifiedArguments":["ls"]}`, "modifiedArguments"},
		{"editable", `{"permission":true,"modifiedArguments":{"token":"[redacted:github]"}}`, "modifiedArguments"},
		{"fixed", `{"permission":true,"modifiedArguments":{"command":"ls -l"}}`, "modifiedArguments"},
		{"permission", `{"permission":true,"modifiedArguments":{}}`, "modifiedArguments"},
		{"why if no", `{"permission":false,"reason":"Not today."}`, ""},
		{"why if no", `{"permission":true}`, ""},
		{"why if no", `{"permission":false}`, "reason"},
		{"why if no", `{"permission":false,"reason":" "}`, "reason"},
		{"why", `{"choice":"a","reason":"It is the only one."}`, ""},
		{"why", `{"choice":"a"}`, "reason"},
		{"never why", `{"permission":false}`, ""},
		{"permission", `{"permission":true,"reason":` + long(schema.MaxReason) + `}`, "reason"},
		{"permission", `{"permission":true,"comment":` + long(schema.MaxReason) + `}`, "comment"},
		{"offers", `{"permission":true,"remember":{"type":"other"}}`, ""},
		// as re-encoded by a browser
		{"offers", `{"permission":true,"remember":{"type":"setMode","n":1,"rule":"a > b"}}`, ""},
		{"offers", `{"permission":true,"remember":{"type":"setMode"}}`, "remember"},
		{"permission", `{"permission":true,"remember":{"type":"other"}}`, "remember"},
		{"several", `{"answers":{"db":"SQLite"}}`, ""},
		{"several", `{"answers":{"db":"MySQL"}}`, "answers.db"},
		{"several", `{"answers":{"db":["SQLite"]}}`, "answers.db"},
		{"several", `{"answers":{"db":1}}`, "answers.db"},
		{"several", `{"answers":{"db":null}}`, "answers.db"},
		{"several", `{"answers":{}}`, "answers.db"},
		{"several", `{"answers":{"db":"SQLite","more":"x"}}`, "answers.more"},
		{"several", `{"response":"SQLite"}`, "answers"},
		{"pick many", `{"answers":{"x":["a","b"]}}`, ""},
		{"pick many", `{"answers":{"x":"a"}}`, ""},
		{"pick many", `{"answers":{"x":[]}}`, "answers.x"},
		{"pick many", `{"answers":{"x":["a","c"]}}`, "answers.x"},
		{"pick many", `{"answers":{"x":["a",1]}}`, "answers.x"},
		{"pick many", `{"answers":{"x":{"a":true}}}`, "answers.x"},
		{"own words", `{"answers":{"x":["a","something else"]}}`, ""},
		{"own words", `{"answers":{"x":" "}}`, "answers.x"},
		{"text in many", `{"answers":{"a":"one","b":"two"}}`, ""},
		{"text in many", `{"answers":{"a":"one","b":""}}`, "answers.b"},
		{"text in many", `{"answers":{"a":"one","b":` + long(schema.MaxText) + `}}`, "answers.b"},
	} {
		var q schema.HumanInTheLoop
		require.NoError(t, json.Unmarshal([]byte(answerableQuestions[c.question]), &q), c.question)
		require.NoError(t, q.Validate(), c.question)
		var r schema.Response
		require.NoError(t, json.Unmarshal([]byte(c.answer), &r), c.answer)
		requireField(t, q.CheckResponse(&r), c.field, schema.ErrWrongAnswer)
	}
}

// TestResponse_RejectsWrongTypes covers bodies that are rejected before the question is looked up.
func TestResponse_RejectsWrongTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{`{"permission":"true"}`, "permission must be true or false, not string"},
		{`{"permission":1}`, "permission must be true or false, not number"},
		{`{"response":["a"]}`, "response must be a string, not array"},
		{`{"choice":{}}`, "choice must be a string, not object"},
		{`{"answers":"a"}`, "answers must be an object, not string"},
		{`{"revision":"1"}`, "revision must be a number, not string"},
		{`{"modifiedArguments":{},"modified_arguments":{}}`, "is given twice, in both spellings"},
	} {
		var r schema.Response
		err := json.Unmarshal([]byte(c.text), &r)
		require.ErrorIs(t, err, schema.ErrWrongAnswer, c.text)
		require.ErrorContains(t, err, c.want)
	}
}

func TestHumanInTheLoop_Outcome(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]schema.Outcome{
		`{"permission":true}`:    schema.Approve,
		`{"permission":false}`:   schema.Deny,
		`{"choice":"Vitest"}`:    "Vitest",
		`{"response":"a text"}`:  schema.Answered,
		`{"answers":{"a":"b"}}`:  schema.Answered,
		`{"response":"approve"}`: schema.Answered,
	} {
		var r schema.Response
		require.NoError(t, json.Unmarshal([]byte(answer), &r))
		require.Equal(t, want, (&schema.HumanInTheLoop{}).Outcome(&r), answer)
	}
}
