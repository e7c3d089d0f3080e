package schema_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// fuzzSeeds adds the goldens of one type and some messages that broke other parsers.
func fuzzSeeds(f *testing.F, typeName string) {
	for _, g := range goldens(f) {
		if g.typeName == typeName && !g.array {
			f.Add(g.text)
		}
	}
	for _, text := range []string{
		``, `null`, `{}`, `[]`, `{"a":1,"a":2}`, `{"":{}}`, `{"timestamp":1e400}`, `{"timeout":1e308}`,
		"{\"question\":\"\xff\"}", `{"question":"\ud800"}`, `{"permission":true,"Permission":false}`, "{\"a\":\"\x00\"}",
		`{"answers":{"":null}}`, `{"choices":[null]}`, `{"questions":[null]}`, `{"suggestions":[null,1,"x"]}`,
	} {
		f.Add([]byte(text))
	}
}

// requireStable checks the invariant of every message: it is rejected with one of causes, or its
// encoding decodes to the same message.
func requireStable[T any](t *testing.T, text []byte, causes ...error) (*T, bool) {
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		var syntax *json.SyntaxError
		ok := errors.As(err, &syntax)
		for _, cause := range causes {
			ok = ok || errors.Is(err, cause)
		}
		require.True(t, ok, "an error of no kind: %v", err)
		return nil, false
	}
	first, err := json.Marshal(v)
	require.NoError(t, err)
	var again T
	require.NoError(t, json.Unmarshal(first, &again), "%s", first)
	second, err := json.Marshal(again)
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))
	return &v, true
}

func FuzzEvent(f *testing.F) {
	fuzzSeeds(f, "Event")
	f.Fuzz(func(t *testing.T, text []byte) {
		e, ok := requireStable[schema.Event](t, text, schema.ErrInvalid)
		if !ok {
			return
		}
		if err := e.Validate(); err != nil {
			require.ErrorIs(t, err, schema.ErrInvalid)
			return
		}
		require.NotEmpty(t, e.SourceApp)
		e.Truncate(1)
		_, err := json.Marshal(e)
		require.NoError(t, err)
	})
}

func FuzzHumanInTheLoop(f *testing.F) {
	fuzzSeeds(f, "HumanInTheLoop")
	f.Fuzz(func(t *testing.T, text []byte) {
		q, ok := requireStable[schema.HumanInTheLoop](t, text, schema.ErrInvalid)
		if !ok {
			return
		}
		if err := q.Validate(); err != nil {
			require.ErrorIs(t, err, schema.ErrInvalid)
			return
		}
		require.Equal(t, q.Timeout != nil && *q.Timeout == 0, q.TimeoutDuration() == 0, "only 0 means never")
		require.ErrorIs(t, q.CheckResponse(&schema.Response{}), schema.ErrWrongAnswer, "nothing is no answer to anything")
	})
}

func FuzzResponse(f *testing.F) {
	fuzzSeeds(f, "Response")
	var asked []schema.HumanInTheLoop
	for _, text := range answerableQuestions {
		var q schema.HumanInTheLoop
		require.NoError(f, json.Unmarshal([]byte(text), &q))
		asked = append(asked, q)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, ok := requireStable[schema.Response](t, text, schema.ErrWrongAnswer, schema.ErrInvalid)
		if !ok {
			return
		}
		for i := range asked {
			if err := asked[i].CheckResponse(r); err != nil {
				require.ErrorIs(t, err, schema.ErrWrongAnswer)
				continue
			}
			outcome := asked[i].Outcome(r)
			require.False(t, schema.IsReservedName(string(outcome)), "a person's answer ended as %s", outcome)
			if asked[i].Type == schema.Permission {
				require.NotNil(t, r.Permission)
			}
		}
	})
}
