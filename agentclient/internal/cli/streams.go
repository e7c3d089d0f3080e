// Package cli is shared by the command groups of hookback: flags, standard streams, exit
// statuses, the state directory and texts about hubs. Each group is a package below it and
// imports no other group, except for up.
package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

// Exit statuses.
const (
	ExitOK      = 0
	ExitDenied  = 1
	ExitProblem = 1 // commands other than ask: a problem was found
	ExitError   = 2 // no answer, no hub or wrong usage
	ExitFailRun = 3 // ask --on-timeout fail_run: no answer in time
)

// Streams are the standard streams of one run; tests replace them.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// PrintError writes a formatted error to stderr and returns ExitError.
func (s Streams) PrintError(format string, args ...any) int {
	fmt.Fprintf(s.Err, "hookback: "+format+"\n", args...)
	return ExitError
}

// IsTerminal reports whether stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Confirm asks the person a question on w, and states if nothing was changed: no answer is a no.
func (s Streams) Confirm(ctx context.Context, w io.Writer, question string) bool {
	fmt.Fprint(w, question+" [y/N] ")
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(io.LimitReader(s.In, 1<<10)).ReadString('\n')
		line <- strings.ToLower(strings.TrimSpace(text))
	}()
	select {
	case <-ctx.Done():
	case text := <-line:
		if text == "y" || text == "yes" {
			return true
		}
	}
	fmt.Fprintln(w, "Nothing was changed.")
	return false
}

// Open opens a file, or returns stdin if name is "-".
func (s Streams) Open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(s.In), nil
	}
	return os.Open(name)
}

// PrintFirstContact states on stderr that the account trusts its first hub.
func (s Streams) PrintFirstContact(p agentclient.Pin) { s.PrintError("%s", FirstContactText(p)) }

// WriteJSON writes v as indented JSON.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// ErrorWithHint returns the text of err and the hub's hint, if it sent one.
func ErrorWithHint(err error) string {
	var hint *schema.HintError
	if errors.As(err, &hint) {
		return err.Error() + "; " + hint.Hint
	}
	if errors.Is(err, agentclient.ErrUnreachable) {
		return err.Error() + "; start a hub (hookback up) or name another with --hub"
	}
	return err.Error()
}

// FirstContactText states that the account trusts its first hub.
func FirstContactText(p agentclient.Pin) string {
	return fmt.Sprintf("this account now trusts hub %s, the first one that it has contacted; compare the key id with the one that the hub prints", p)
}

// HasNoKey reports whether err means that a hub is of a version without a key.
func HasNoKey(err error) bool { return errors.Is(err, schema.ErrNoRoute) }
