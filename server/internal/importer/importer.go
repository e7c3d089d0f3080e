package importer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/project"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

const help = `hookback import [flags]

Imports the sessions that Claude Code kept before its hooks were installed: one event for each session,
with its times, tokens, tools, changed files and the newest part of its transcript. Sessions that the
hub has from hooks are skipped, and importing again changes nothing. Secrets are redacted by the hub
before it stores them.

Transcripts are read from ~/.claude/projects, or from CLAUDE_CONFIG_DIR. HOOKBACK_URL and HOOKBACK_TOKEN
select the hub as for other commands.

Exit status: 0 all sessions were imported or skipped; 1 some could not be read or were refused; 2 an error
(the reason is on stderr).

Flags:
`

// agentName is the agent whose transcripts are read.
const agentName = "claude-code"

// Exit statuses.
const (
	exitProblem = 1
	exitError   = 2
)

// Streams are the standard streams of the command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// run is one run of the command.
type run struct {
	Streams
	env func(string) string
	now time.Time

	agent, since, hub, knownHubs string
	dryRun, offer, yes           bool

	client *agentclient.Client
	osUser string
	known  map[string]string // sessions of the hub → the hash of their import; empty: they have other events
	sum    summary
}

// Run runs hookback import with these arguments and returns its exit status.
func Run(ctx context.Context, args []string, env func(string) string, std Streams) int {
	r := &run{env: env, Streams: std, now: time.Now()}
	if u, err := user.Current(); err == nil {
		r.osUser = u.Username[strings.LastIndexByte(u.Username, '\\')+1:]
	}
	if err := r.parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return r.fail(fmt.Errorf("%w; see hookback import --help", err))
	}
	cutoff, err := r.cutoff()
	if err != nil {
		return r.fail(err)
	}
	folder, err := openProjects(env)
	if r.offer && errors.Is(err, errNoSessions) {
		return 0
	}
	if err != nil {
		return r.fail(err)
	}
	defer folder.close()
	o := agentclient.Options{KnownHubs: r.knownHubs, Env: env}
	if r.hub != "" {
		o.Hubs = strings.Split(r.hub, ",")
	}
	r.client = agentclient.New(o)
	defer func() { _ = r.client.Close() }()
	if err := r.readKnown(ctx); err != nil && !(r.dryRun && errors.Is(err, agentclient.ErrUnreachable)) {
		return r.fail(explain(err))
	}
	if r.offer && !r.isWanted(folder, cutoff) {
		return 0
	}
	if err := r.importAll(ctx, folder, cutoff); err != nil {
		return r.fail(explain(err))
	}
	if !r.sum.write(r.Out, r.since, r.dryRun) {
		return exitProblem
	}
	return 0
}

// isWanted reports whether the hub lacks sessions that a person wants to import.
func (r *run) isWanted(folder *projects, cutoff time.Time) bool {
	files, _ := folder.files() // importing reports the problems
	fresh := map[string]bool{}
	for _, f := range files {
		if _, known := r.known[f.owner]; !known && f.isMain && !f.modified.Before(cutoff) {
			fresh[f.owner] = true
		}
	}
	q := newQuestion(r.env, r.In, r.Out)
	return len(fresh) > 0 && (r.yes || q.isAccepted(len(fresh)))
}

func (r *run) fail(err error) int {
	_, _ = fmt.Fprintf(r.Err, "hookback import: %v\n", err)
	return exitError
}

func (r *run) parse(args []string) error {
	f := flag.NewFlagSet("import", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&r.agent, "agent", agentName, "the `agent` whose sessions are imported; only claude-code keeps transcripts that can be")
	f.StringVar(&r.since, "since", "30d", "import the sessions that were active in the last `time`, such as 12h, 30d or 8w; all: every session")
	f.BoolVar(&r.dryRun, "dry-run", false, "list the sessions and send nothing")
	f.BoolVar(&r.offer, "offer", false, "ask first, unless there is nothing to import or it was declined; for hookback up")
	f.BoolVar(&r.yes, "yes", false, "with --offer: do not ask")
	f.StringVar(&r.hub, "hub", "", "the hub's `address`, or several separated by commas (default HOOKBACK_URL)")
	f.StringVar(&r.knownHubs, "known-hubs", "", "the `file` with the trusted hubs; default: known_hubs in ~/.config/hookback")
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, _ = io.WriteString(r.Out, help)
		f.VisitAll(func(fl *flag.Flag) {
			name, text := flag.UnquoteUsage(fl)
			_, _ = fmt.Fprintf(r.Out, "  --%-24s %s\n", strings.TrimSpace(fl.Name+" "+name), text)
		})
	case err == nil && f.NArg() > 0:
		err = fmt.Errorf("import takes flags only, not %q", f.Arg(0))
	case err == nil && r.agent != agentName:
		err = fmt.Errorf("--agent %s: only the transcripts of %s can be imported", r.agent, agentName)
	}
	return err
}

// cutoff returns the time of --since; the zero time for all.
func (r *run) cutoff() (time.Time, error) {
	if r.since == "all" {
		return time.Time{}, nil
	}
	units := map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	if last := len(r.since) - 1; last > 0 {
		n, err := strconv.Atoi(r.since[:last])
		if unit := units[r.since[last]]; err == nil && unit > 0 && n > 0 && n <= 100_000 {
			return r.now.Add(-time.Duration(n) * unit), nil
		}
	}
	return time.Time{}, fmt.Errorf("--since %s: must be a number of hours, days or weeks such as 12h, 30d or 8w, or all", r.since)
}

// explain adds what to do about an error of the hub.
func explain(err error) error {
	switch {
	case errors.Is(err, agentclient.ErrUnreachable):
		return fmt.Errorf("%w. Start the hub with hookback up, or set HOOKBACK_URL or --hub to its address. Import again: sessions that were imported are skipped", err)
	case errors.Is(err, schema.ErrSignIn), errors.Is(err, schema.ErrNotAllowed):
		return fmt.Errorf("%w. Set HOOKBACK_TOKEN to a token of this hub", err)
	default:
		return err
	}
}

// readKnown reads the sessions that the hub has. With a token that may only post, the hub refuses the
// sessions that it has.
func (r *run) readKnown(ctx context.Context) error {
	r.known = map[string]string{}
	for cursor := ""; ; {
		page, err := r.client.Sessions(ctx, cursor)
		if errors.Is(err, schema.ErrNotAllowed) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range page.Sessions {
			s := &page.Sessions[i]
			if hash, listed := r.known[s.SessionID]; !listed || hash != "" {
				r.known[s.SessionID] = s.Imported
			}
		}
		if cursor = page.Next; cursor == "" {
			return nil
		}
	}
}

// importAll imports the sessions that were active since cutoff, oldest first.
func (r *run) importAll(ctx context.Context, folder *projects, cutoff time.Time) error {
	files, problems := folder.files()
	found := folder.index(files, func(id string, modified time.Time) bool {
		_, known := r.known[id] // one that was imported before may be the original of a copy
		return known || !modified.Before(cutoff)
	})
	for _, err := range append(problems, found.problems...) {
		r.sum.unreadable(r.Err, err)
	}
	sessions := found.sorted()
	for i, s := range sessions {
		r.progress(i, len(sessions))
		if err := ctx.Err(); err != nil {
			return err
		}
		if hash, known := r.known[s.id]; known && hash == "" {
			r.sum.known++
			continue
		}
		if s.modified.Before(cutoff) {
			r.sum.older++
			continue
		}
		t, err := folder.read(s, found.books)
		if err != nil {
			r.sum.unreadable(r.Err, err)
			continue
		}
		if err := r.importSession(ctx, s, t, cutoff); err != nil {
			return err
		}
	}
	r.progress(len(sessions), len(sessions))
	return nil
}

// importSession sends one session. It returns only the errors that end the import.
func (r *run) importSession(ctx context.Context, files *sessionFiles, t *transcript, cutoff time.Time) error {
	in, chat := t.finish()
	r.sum.lines += in.UnreadableLines
	switch ended := time.UnixMilli(int64(in.EndedAt)); {
	case in.EndedAt == 0 || len(t.usage)+len(t.chat.lines) == 0:
		r.sum.empty++
		return nil
	case ended.Before(cutoff):
		r.sum.older++
		return nil
	case r.known[files.id] == in.Hash:
		r.sum.unchanged++
		return nil
	}
	if r.dryRun {
		r.list(files, in)
		r.sum.add(in)
		return nil
	}
	payload, err := json.Marshal(in)
	if err != nil {
		return err
	}
	_, err = r.client.Send(ctx, schema.Event{
		SourceApp: projectName(in.Cwd), SessionID: files.id, HookEventType: history.EventSessionImported, Agent: agentName,
		Payload: payload, Chat: chat, Timestamp: in.EndedAt, ModelName: in.Model, OSUser: r.osUser,
		Summary: "Imported: " + clip(cmp.Or(in.Title, files.id), 200), IdempotencyKey: "import/" + agentName + "/" + files.id + "/" + in.Hash,
	})
	field := (*schema.FieldError)(nil)
	switch {
	case err == nil:
		r.sum.add(in)
	case errors.Is(err, schema.ErrSessionKnown):
		r.sum.known++
	case errors.As(err, &field), errors.Is(err, schema.ErrTooLarge), errors.Is(err, schema.ErrKeyConflict):
		r.sum.refused++
		_, _ = fmt.Fprintf(r.Err, "hookback import: the hub refused session %s: %v\n", files.id, err)
	default:
		return err
	}
	return nil
}

// list prints a session of a dry run.
func (r *run) list(files *sessionFiles, in *history.ImportedSession) {
	ended := time.UnixMilli(int64(in.EndedAt)).Format("2006-01-02 15:04")
	_, _ = fmt.Fprintf(r.Out, "%s  %-20s  %s\n", ended, printable(clip(projectName(in.Cwd), 20)), printable(clip(cmp.Or(in.Title, files.id), 80)))
}

// projectName returns the name of the application as the hooks of Claude Code derive it.
func projectName(cwd string) string {
	return cmp.Or(project.Name(schema.MaxName, project.Main(cwd)), agentName)
}

// clip returns text on one line, at most about n bytes of it.
func clip(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n-3], "") + "…"
}

// progress shows how far the import is, on a terminal.
func (r *run) progress(done, all int) {
	file, ok := r.Err.(*os.File)
	if !ok || r.dryRun {
		return
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return
	}
	if done == all {
		_, _ = io.WriteString(file, "\r\x1b[K")
		return
	}
	_, _ = fmt.Fprintf(file, "\r%d of %d sessions", done, all)
}
