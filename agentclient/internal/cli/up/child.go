package up

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hookback/hookback/agentclient/internal/account"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/service"
	"github.com/hookback/hookback/agentclient/internal/cli/setup"
)

// Limits of waiting.
const (
	childTimeout   = 20 * time.Second
	browserTimeout = 10 * time.Second
	stopTimeout    = 15 * time.Second
)

// maxLog is the size at which the hub's log starts again from nothing.
const maxLog = 4 << 20

// testRequestFile exists in the state directory once a test request was answered.
const testRequestFile = "test-request"

// report is a line of the hub's output: that it is ready, or the state of a test request.
type report struct {
	URL         string       `json:"url"`
	SignInLink  string       `json:"signInLink"` // a file
	TestRequest *testRequest `json:"testRequest"`
}

type testRequest struct {
	State   string `json:"state"`
	Outcome string `json:"outcome"`
}

// child is the hub as a child of this process.
type child struct {
	cmd     *exec.Cmd
	reports chan report
	exited  chan struct{} // closed at its end
	log     *os.File
	logFrom int64 // where the log of this run begins
}

// startChild runs the hub until ctx ends.
func (s *session) startChild(ctx context.Context) int {
	// The hub ends with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	server, err := service.FindServer(s.env)
	if err != nil {
		return s.std.PrintError("%v", err)
	}
	dir := account.StateDir(s.env)
	if dir == "" {
		return s.std.PrintError("this user has no home directory (HOME), so the hub's log has no place; nothing was started")
	}
	link := "" // of --sign-in
	if s.sign {
		if link, err = s.newSignInLink(ctx, server); err != nil {
			return s.std.PrintError("no sign-in link was made: %v", err)
		}
	}
	hub, err := s.launch(server, dir)
	if err != nil {
		return s.std.PrintError("%v. Nothing was started", err)
	}
	defer hub.stop()
	ready, err := hub.waitReady(ctx)
	switch {
	case ctx.Err() != nil:
		return cli.ExitOK
	case err != nil:
		return s.failed(hub, err)
	}
	fmt.Fprintf(s.std.Out, "Hookback runs: %s   Ctrl-C stops it. Log: %s\n", s.pageURL(), hub.log.Name())
	p := &page{session: s, dir: dir, linkFile: ready.SignInLink, link: link}
	p.open()
	defer p.close()
	return s.follow(ctx, hub, p, filepath.Join(dir, testRequestFile))
}

// launch starts the hub with its log in dir.
func (s *session) launch(server, dir string) (*child, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the hub's log can't be written: %w. Set XDG_STATE_HOME to a directory that you can write", err)
	}
	log, err := os.OpenFile(filepath.Join(dir, "hub.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the hub's log can't be written: %w. Set XDG_STATE_HOME to a directory that you can write", err)
	}
	c := &child{log: log, reports: make(chan report, 64), exited: make(chan struct{})}
	if info, err := log.Stat(); err == nil && info.Size() < maxLog {
		c.logFrom = info.Size()
	} else {
		_ = log.Truncate(0)
	}
	c.cmd = exec.Command(server, "-addr", "127.0.0.1:"+strconv.Itoa(s.port), "-ready-json") //nolint:gosec,noctx // the hub's program, which stop ends
	if _, err := os.Stat(filepath.Join(dir, testRequestFile)); s.test || errors.Is(err, fs.ErrNotExist) {
		// A variable, because hubs without test requests refuse an unknown flag.
		c.cmd.Env = append(c.cmd.Environ(), "HOOKBACK_TEST_REQUEST=true")
	}
	c.cmd.Stderr, c.cmd.SysProcAttr = log, childAttributes()
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		_ = log.Close()
		return nil, fmt.Errorf("%s: %w", server, err)
	}
	go c.read(out)
	return c, nil
}

// read passes on the reports of the hub until it ends. Its other output goes to the log.
func (c *child) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var r report
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			_, _ = fmt.Fprintln(c.log, lines.Text())
			continue
		}
		select {
		case c.reports <- r:
		default: // no one reads the states of a test request
		}
	}
	_, _ = io.Copy(c.log, out)
	_ = c.cmd.Wait() // its status is in ProcessState
	close(c.exited)
}

// waitReady returns the report that the hub listens.
func (c *child) waitReady(ctx context.Context) (report, error) {
	late := time.NewTimer(childTimeout)
	defer late.Stop()
	for {
		select {
		case <-ctx.Done():
			return report{}, ctx.Err()
		case r := <-c.reports:
			if r.URL != "" {
				return r, nil
			}
		case <-c.exited:
			return report{}, fmt.Errorf("the hub ended at its start (%s)", c.cmd.ProcessState)
		case <-late.C:
			return report{}, fmt.Errorf("the hub was not ready within %s", childTimeout)
		}
	}
}

// stop ends the hub. It may be called again.
func (c *child) stop() {
	defer func() { _ = c.log.Close() }()
	_ = interrupt(c.cmd.Process)
	late := time.NewTimer(stopTimeout)
	defer late.Stop()
	select {
	case <-c.exited:
	case <-late.C:
		_ = c.cmd.Process.Kill()
		<-c.exited
	}
}

// failed prints the end of the hub's log.
func (s *session) failed(hub *child, err error) int {
	text := tail(hub.log.Name(), hub.logFrom, 20)
	if text != "" {
		text = ":\n" + text
	}
	return s.std.PrintError("%v. The end of %s%s", err, hub.log.Name(), text)
}

// follow shows what happens until ctx or the hub ends. done is the file that marks a finished test
// request.
func (s *session) follow(ctx context.Context, hub *child, p *page, done string) int {
	c, status := s.planConnection()
	var line <-chan string
	switch {
	case c == nil:
	case s.yes:
		status = c.Apply(ctx, s.std)
		c = nil
	default:
		s.ask(c)
		line = s.readLine()
	}
	if c == nil {
		s.offerImport(ctx)
	}
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for {
		reports := hub.reports
		if c != nil {
			reports = nil // they would interrupt the question
		}
		select {
		case <-ctx.Done():
			fmt.Fprintln(s.std.Out, "\nHookback stops.")
			return status
		case <-hub.exited:
			return s.failed(hub, fmt.Errorf("the hub ended (%s)", hub.cmd.ProcessState))
		case text := <-line:
			status = s.answerConnect(ctx, c, text)
			c = nil
			s.offerImport(ctx)
		case r := <-reports:
			s.printState(r.TestRequest, done)
		case <-again.C:
			p.check(c != nil)
		}
	}
}

func (s *session) answerConnect(ctx context.Context, c *setup.Connection, text string) int {
	if !isYes(text) {
		return s.declined()
	}
	return c.Apply(ctx, s.std)
}

// printState prints a step of the test request.
func (s *session) printState(t *testRequest, done string) {
	if t == nil {
		return
	}
	switch t.State {
	case "saved":
		fmt.Fprintln(s.std.Out, "Test request: answer it on the page. Nothing runs.\n  ✓ Saved")
	case "answered":
		text := "  ✓ Answered"
		if t.Outcome != "" {
			text += ": " + clean(t.Outcome)
		}
		fmt.Fprintln(s.std.Out, text)
		_ = os.WriteFile(done, nil, 0o600) // without it, the next start sends another
	case "sent", "delivered":
		fmt.Fprintln(s.std.Out, "  ✓ "+strings.ToUpper(t.State[:1])+t.State[1:])
	case "ran":
		fmt.Fprintln(s.std.Out, "  ✓ Ran")
	}
}

// newSignInLink makes a link for the person while the hub does not run, and returns it.
func (s *session) newSignInLink(ctx context.Context, server string) (string, error) {
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, server, "-addr", "127.0.0.1:"+strconv.Itoa(s.port), "-sign-in", s.name) //nolint:gosec // the hub's program
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		text := strings.TrimPrefix(strings.TrimSpace(errOut.String()), service.ServerProgram+": ")
		return "", fmt.Errorf("%w: %s; --name selects the person", err, text)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	place := strings.TrimSpace(lines[len(lines)-1])
	link, err := os.ReadFile(place)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(link)), os.Remove(place)
}

// page is the hub's page in the browser, opened with a sign-in link if there is one.
type page struct {
	*session
	dir      string
	linkFile string // the hub removes it when the link was used
	link     string // empty: the page opens without
	redirect string // a file
	opened   time.Time
}

func (p *page) open() {
	if p.linkFile != "" && p.link == "" {
		text, err := os.ReadFile(p.linkFile)
		if err != nil {
			p.std.PrintError("the sign-in link can't be read: %v", err)
			p.linkFile = ""
		} else if p.link = strings.TrimSpace(string(text)); p.name != "" {
			p.link += "&name=" + url.PathEscape(p.name)
		}
	}
	switch {
	case p.link == "":
		p.session.open(p.pageURL())
	case !p.interactive && p.linkFile != "":
		fmt.Fprintf(p.std.Out, "Sign in with the link in %s. It works once, within 15 minutes.\n", p.linkFile)
	case !p.interactive:
		fmt.Fprintln(p.std.Out, "The sign-in link was not printed, because the output is not a terminal. Run hookback up --sign-in in one.")
	default:
		p.openSignedIn()
	}
}

// openSignedIn opens the page by a redirect, or prints the link.
func (p *page) openSignedIn() {
	var err error
	if !p.noOpen {
		p.redirect, err = writeRedirect(p.dir, p.link)
	}
	if p.noOpen || err != nil || !p.session.open(fileURL(p.redirect)) {
		p.printLink()
		return
	}
	p.opened = time.Now()
}

// check removes the redirect after the link was used, and prints the link if it was not used soon.
func (p *page) check(asking bool) {
	if p.redirect == "" {
		return
	}
	if _, err := os.Stat(p.linkFile); p.linkFile != "" && errors.Is(err, fs.ErrNotExist) {
		p.close()
		return
	}
	if !p.opened.IsZero() && time.Since(p.opened) > browserTimeout {
		if p.opened = (time.Time{}); asking {
			fmt.Fprintln(p.std.Out)
		}
		p.printLink()
	}
}

func (p *page) printLink() {
	fmt.Fprintf(p.std.Out, "Sign in: open this link. It works once, within 15 minutes.\n  %s\n", p.link)
}

// waitOpened keeps the redirect as long as a slow browser takes to read it, or until ctx ends.
func (p *page) waitOpened(ctx context.Context) int {
	if p.redirect != "" {
		select {
		case <-ctx.Done():
		case <-time.After(browserTimeout):
		}
	}
	return cli.ExitOK
}

func (p *page) close() {
	if p.redirect != "" {
		_ = os.Remove(p.redirect)
	}
	p.redirect = ""
}
