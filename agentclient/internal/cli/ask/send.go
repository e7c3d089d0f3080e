package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/plaintext"
	"github.com/hookback/hookback/schema"
)

const sendHelp = `hookback send [flags]
hookback send < event.json

Stores one event and prints its number. With --type the event is built from the flags.
Without --type it is read from stdin as JSON, and the flags set the members that are
missing. source_app, session_id and timestamp are optional.
`

// sendFlags holds the flags of send.
type sendFlags struct {
	*cli.Flags
	kind, payload, tool, summary string
}

func newSendFlags(env func(string) string) *sendFlags {
	s := &sendFlags{Flags: cli.NewFlags("send", sendHelp, env)}
	s.StringVar(&s.kind, "type", "", "the event's `hook_event_type`, such as PostToolUse")
	s.StringVar(&s.payload, "payload", "", "the payload, a `JSON` object")
	s.StringVar(&s.tool, "tool", "", "the `name` of the tool")
	s.StringVar(&s.summary, "summary", "", "one `line` for the event list")
	return s
}

// event builds the event from the flags, or reads it from stdin if --type is missing.
func (s *sendFlags) event(stdin io.Reader) (schema.Event, error) {
	e := schema.Event{HookEventType: s.kind}
	if s.kind == "" {
		if cli.IsTerminal(stdin) {
			return e, errors.New("no event on stdin; set --type, or use hookback send < event.json")
		}
		text, err := io.ReadAll(io.LimitReader(stdin, schema.MaxBody+1))
		if err != nil {
			return e, fmt.Errorf("read stdin: %w", err)
		}
		if len(text) > schema.MaxBody {
			return e, fmt.Errorf("the event on stdin is larger than %d MiB, the maximum of a hub", schema.MaxBody>>20)
		}
		if err := json.Unmarshal(plaintext.Decode(text), &e); err != nil {
			return e, fmt.Errorf("the event on stdin is not valid: %w; see hookback send --help", err)
		}
	}
	if s.payload != "" {
		if err := json.Unmarshal([]byte(s.payload), &map[string]json.RawMessage{}); err != nil {
			return e, errors.New(`--payload must be a JSON object, such as '{"command": "ls"}'`)
		}
		e.Payload = json.RawMessage(s.payload)
	}
	for _, f := range []struct {
		field *string
		value string
	}{{&e.ToolName, s.tool}, {&e.Summary, s.summary}} {
		if *f.field == "" {
			*f.field = f.value
		}
	}
	return e, nil
}

// RunSend runs hookback send.
func RunSend(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	s := newSendFlags(env)
	if status, done := s.ParseFlags(args, std); done {
		return status
	}
	e, err := s.event(std.In)
	if err != nil {
		return std.PrintError("%v", err)
	}
	client := agentclient.New(s.Options())
	defer client.Close()
	sent, err := client.Send(ctx, e)
	if err != nil {
		return std.PrintError("%s", cli.ErrorWithHint(err))
	}
	fmt.Fprintln(std.Out, sent.ID)
	return cli.ExitOK
}
