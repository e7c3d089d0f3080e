package statusline

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/server/hubtest"
)

func TestMain(m *testing.M) {
	clitest.IsolateProcess()
	var known []goleak.Option
	for _, f := range hubtest.Goroutines() {
		known = append(known, goleak.IgnoreAnyFunction(f))
	}
	goleak.VerifyTestMain(m, known...)
}
