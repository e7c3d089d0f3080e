package setup

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
)

func TestMain(m *testing.M) {
	clitest.IsolateProcess()
	goleak.VerifyTestMain(m)
}
