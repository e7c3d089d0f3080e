package statusline

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/server/hubtest"
)

// The tests have their own home directories in place of the account's.
func TestMain(m *testing.M) {
	cli.TestHome = "HOME"
	var known []goleak.Option
	for _, f := range hubtest.Goroutines() {
		known = append(known, goleak.IgnoreAnyFunction(f))
	}
	goleak.VerifyTestMain(m, known...)
}
