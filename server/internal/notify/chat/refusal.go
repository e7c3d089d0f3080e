package chat

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"time"
)

// RefusalError is an error that a chat service answered.
type RefusalError struct {
	Service, Method string
	Code            int // the HTTP status that fits it
	Description     string
	RetryAfter      time.Duration // 429 only
}

func (r *RefusalError) Error() string {
	return fmt.Sprintf("%s refused %s: %d %s", r.Service, r.Method, r.Code, r.Description)
}

// IsPermanent reports whether a repetition would be refused as well.
func IsPermanent(err error) bool {
	var refused *RefusalError
	return errors.As(err, &refused) && refused.Code >= 400 && refused.Code < 500 &&
		refused.Code != http.StatusTooManyRequests && refused.Code != http.StatusRequestTimeout
}

// The delays between failed requests.
const (
	minBackoff = time.Second
	maxBackoff = 5 * time.Minute
)

// RetryDelay returns the delay after a number of failures in a row: that of the service, or 1 s to
// 5 min with a random part of a fifth.
func RetryDelay(err error, failures int) time.Duration {
	var refused *RefusalError
	if errors.As(err, &refused) && refused.RetryAfter > 0 {
		return refused.RetryAfter
	}
	d := min(minBackoff<<min(failures-1, 12), maxBackoff)
	jitter, err := rand.Int(rand.Reader, big.NewInt(int64(d/5)))
	if err != nil {
		return d
	}
	return d + time.Duration(jitter.Int64())
}
