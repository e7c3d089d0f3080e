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
	"permission":        `{"question":"?","type":"permission"}`,
	"text":              `{"question":"?","type":"question"}`,
	"choice":            `{"question":"?","type":"choice","choices":["Jest","Vitest"]}`,
	"choice or text":    `{"question":"?","type":"choice","choices":["Jest","Vitest"],"allowOther":true}`,
	"editable":          `{"question":"?","type":"permission","toolCall":{"name":"Bash","editable":true,"arguments":{"command":"ls"}}}`,
	"fixed":             `{"question":"?","type":"permission","toolCall":{"name":"Bash","arguments":{"command":"ls"}}}`,
	"reason for denial": `{"question":"?","type":"permission","reasonRequired":"deny"}`,
	"reason always":     `{"question":"?","type":"choice","choices":["a"],"reasonRequired":"always"}`,
	"reason never":      `{"question":"?","type":"permission","reasonRequired":"never"}`,
	"suggestions":       `{"question":"?","type":"permission","suggestions":[{"type":"setMode","n":1.0,"rule":"a \u003e b"},{"type":"other"}]}`,
	"form":              `{"question":"?","type":"question","questions":[{"id":"db","question":"?","options":[{"label":"SQLite"},{"label":"Postgres"}]}]}`,
	"multiple":          `{"question":"?","type":"question","questions":[{"id":"x","question":"?","options":[{"label":"a"},{"label":"b"}],"multiple":true}]}`,
	"other allowed":     `{"question":"?","type":"question","questions":[{"id":"x","question":"?","options":[{"label":"a"}],"multiple":true,"allowOther":true}]}`,
	"text form":         `{"question":"?","type":"question","questions":[{"id":"a","question":"?"},{"id":"b","question":"?"}]}`,
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
		{"choice", `{"response":"Mocha"}`, "choice"},
		{"choice or text", `{"choice":"Vitest"}`, ""},
		{"choice or text", `{"choice":"Mocha"}`, "choice"},
		{"choice or text", `{"response":"Mocha, with our runner"}`, ""},
		{"choice or text", `{"response":"Jest"}`, "response"},
		{"choice or text", `{"response":" "}`, "response"},
		{"choice or text", `{"response":` + long(schema.MaxText) + `}`, "response"},
		{"choice or text", `{"choice":"Jest","response":"Mocha"}`, "response"},
		{"choice or text", `{}`, "choice"},
		{"choice or text", `{"permission":true}`, "choice"},
		{"editable", `{"permission":true,"modifiedArguments":{"command":"ls -l"}}`, ""},
		{"editable", `{"permission":true}`, ""},
		{"editable", `{"permission":false,"modifiedArguments":{"command":"ls -l"}}`, "modifiedArguments"},
		{"editable", `{"permission":true,"modifiedArguments":"ls"}`, "modifiedArguments"},
		{"editable", `{"permission":true,"modifiedArguments":["ls"]}`, "modifiedArguments"},
		{"editable", `{"permission":true,"modifiedArguments":{"token":"[redacted:github]"}}`, "modifiedArguments"},
		{"fixed", `{"permission":true,"modifiedArguments":{"command":"ls -l"}}`, "modifiedArguments"},
		{"permission", `{"permission":true,"modifiedArguments":{}}`, "modifiedArguments"},
		{"reason for denial", `{"permission":false,"reason":"Not today."}`, ""},
		{"reason for denial", `{"permission":true}`, ""},
		{"reason for denial", `{"permission":false}`, "reason"},
		{"reason for denial", `{"permission":false,"reason":" "}`, "reason"},
		{"reason always", `{"choice":"a","reason":"It is the only one."}`, ""},
		{"reason always", `{"choice":"a"}`, "reason"},
		{"reason never", `{"permission":false}`, ""},
		{"permission", `{"permission":true,"reason":` + long(schema.MaxReason) + `}`, "reason"},
		{"permission", `{"permission":true,"comment":` + long(schema.MaxReason) + `}`, "comment"},
		{"suggestions", `{"permission":true,"remember":{"type":"other"}}`, ""},
		// as re-encoded by a browser
		{"suggestions", `{"permission":true,"remember":{"type":"setMode","n":1,"rule":"a > b"}}`, ""},
		{"suggestions", `{"permission":true,"remember":{"type":"setMode"}}`, "remember"},
		{"permission", `{"permission":true,"remember":{"type":"other"}}`, "remember"},
		{"form", `{"answers":{"db":"SQLite"}}`, ""},
		{"form", `{"answers":{"db":"MySQL"}}`, "answers.db"},
		{"form", `{"answers":{"db":["SQLite"]}}`, "answers.db"},
		{"form", `{"answers":{"db":1}}`, "answers.db"},
		{"form", `{"answers":{"db":null}}`, "answers.db"},
		{"form", `{"answers":{}}`, "answers.db"},
		{"form", `{"answers":{"db":"SQLite","more":"x"}}`, "answers.more"},
		{"form", `{"response":"SQLite"}`, "answers"},
		{"multiple", `{"answers":{"x":["a","b"]}}`, ""},
		{"multiple", `{"answers":{"x":"a"}}`, ""},
		{"multiple", `{"answers":{"x":[]}}`, "answers.x"},
		{"multiple", `{"answers":{"x":["a","c"]}}`, "answers.x"},
		{"multiple", `{"answers":{"x":["a",1]}}`, "answers.x"},
		{"multiple", `{"answers":{"x":{"a":true}}}`, "answers.x"},
		{"other allowed", `{"answers":{"x":["a","something else"]}}`, ""},
		{"other allowed", `{"answers":{"x":" "}}`, "answers.x"},
		{"text form", `{"answers":{"a":"one","b":"two"}}`, ""},
		{"text form", `{"answers":{"a":"one","b":""}}`, "answers.b"},
		{"text form", `{"answers":{"a":"one","b":` + long(schema.MaxText) + `}}`, "answers.b"},
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
