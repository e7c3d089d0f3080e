package rawevent

import (
	"encoding/json"

	"github.com/hookback/hookback/schema"
)

// Result is the result of one item of a batch: an event as JSON, or an error.
type Result struct {
	Event []byte
	Err   error
}

// EncodeResults returns a JSON array with one schema.BatchResult per item.
func EncodeResults(results []Result) ([]byte, error) {
	dst := []byte{'['}
	for i, result := range results {
		if i > 0 {
			dst = append(dst, ',')
		}
		if result.Err == nil {
			dst = append(append(append(dst, `{"event":`...), result.Event...), '}')
			continue
		}
		problem, err := json.Marshal(schema.ProblemOf(result.Err))
		if err != nil {
			return nil, err
		}
		dst = append(append(append(dst, `{"problem":`...), problem...), '}')
	}
	return append(dst, ']'), nil
}
