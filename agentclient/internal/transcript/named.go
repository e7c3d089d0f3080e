package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"time"
)

// NamedAt returns the time of the newest line in the transcript that names the file, without the lines of the call: the
// agent read or wrote it then, or later lines only talk about it. It is zero if there is none, or if it can't be read
// before ctx ends.
func NamedAt(ctx context.Context, transcript, file, call string) time.Time {
	name, err := json.Marshal(file)
	if err != nil || call == "" {
		return time.Time{} // the call itself names the file
	}
	return read(ctx, transcript, func(path string) time.Time {
		for b := range backward(path) {
			var l struct {
				Timestamp time.Time `json:"timestamp"`
			}
			if bytes.Contains(b, name) && !bytes.Contains(b, []byte(call)) && json.Unmarshal(b, &l) == nil && !l.Timestamp.IsZero() {
				return l.Timestamp
			}
		}
		return time.Time{}
	})
}
