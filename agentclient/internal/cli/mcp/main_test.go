package mcp

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/hookback/hookback/agentclient/internal/cli"
)

// The tests have their own home directories in place of the account's.
func TestMain(m *testing.M) {
	cli.TestHome = "HOME"
	goleak.VerifyTestMain(m)
}
