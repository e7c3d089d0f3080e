// Command hookback-server is the Hookback hub: agents post events and questions, people answer in
// the dashboard, and the hub calls the agents back. It is
// command server under the name that go install gives it.
package main

import (
	"os"

	"github.com/hookback/hookback/server/internal/app"
)

func main() { os.Exit(app.Main(os.Args[1:], os.Getenv, os.Stdout, os.Stderr)) }
