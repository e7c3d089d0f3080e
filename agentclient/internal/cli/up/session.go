package up

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/desktop"
	"github.com/hookback/hookback/agentclient/internal/cli/setup"
)

// session is one run of the command.
type session struct {
	env         func(string) string
	std         cli.Streams
	interactive bool

	port                            int
	noOpen, noWire, yes, sign, test bool
	name                            string
	version                         string
}

func (s *session) url() string { return "http://127.0.0.1:" + strconv.Itoa(s.port) }

// pageURL is the page's address. Passkeys belong to the name localhost.
func (s *session) pageURL() string { return "http://localhost:" + strconv.Itoa(s.port) + "/" }

func (s *session) nextPort() int {
	if s.port > 65525 {
		return 4010
	}
	return s.port + 10
}

// open opens the page, and reports whether a browser was started.
func (s *session) open(address string) bool {
	if !s.interactive || s.noOpen {
		return false
	}
	if err := desktop.OpenBrowser(s.env, address); err != nil {
		fmt.Fprintf(s.std.Out, "%v. Open the page yourself.\n", err)
		return false
	}
	return true
}

// connect offers to connect the agents. line delivers the typed text.
func (s *session) connect(ctx context.Context, line <-chan string) int {
	c, status := s.planConnection()
	if c == nil {
		return status
	}
	if !s.yes {
		s.ask(c)
		select {
		case <-ctx.Done():
			return cli.ExitOK
		case text := <-line:
			if !isYes(text) {
				return s.declined()
			}
		}
	}
	return c.Apply(ctx, s.std)
}

// planConnection returns nil if there is nothing to connect or to ask.
func (s *session) planConnection() (*setup.Connection, int) {
	if s.noWire || !s.interactive && !s.yes {
		return nil, cli.ExitOK
	}
	c, err := setup.PlanConnection(s.env, s.url())
	if err != nil {
		s.std.PrintError("no agent was connected: %v", err)
		return nil, cli.ExitProblem
	}
	if len(c.Agents) == 0 {
		return nil, cli.ExitOK
	}
	return c, cli.ExitOK
}

func (s *session) ask(c *setup.Connection) {
	it := "them"
	if len(c.Agents) == 1 {
		it = "it"
	}
	fmt.Fprintf(s.std.Out, "Found %s. Connect %s? [Y/n] ", strings.Join(c.Agents, ", "), it)
}

func (s *session) declined() int {
	fmt.Fprintln(s.std.Out, "No agent was connected. Connect them later with: hookback install")
	return cli.ExitOK
}

// readLine returns a channel with the next line of the terminal, or "n" at its end. It reads only if
// there is a question.
func (s *session) readLine() <-chan string {
	line := make(chan string, 1)
	if s.interactive && !s.yes && !s.noWire {
		go func() {
			text, err := bufio.NewReader(s.std.In).ReadString('\n')
			if err != nil && text == "" {
				text = "n"
			}
			line <- text
		}()
	}
	return line
}

func isYes(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "", "y", "yes":
		return true
	}
	return false
}
