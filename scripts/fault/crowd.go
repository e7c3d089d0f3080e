package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/schema"
)

const (
	crowdSize    = 4096
	crowdRounds  = 100        // answers of the owner per phase
	crowdMemory  = 100 << 20  // bytes by which the hub may grow
	crowdCommand = "crowd-of" // argument of the child process: ADDR, "pull" or "half", and the question's id
)

// crowdRun lets one other program open 4,096 connections that wait, and then 4,096 that never complete
// a request. The signed-in owner must be able to answer, a hook must get its decision, and the hub must
// not grow by 100 MiB.
func crowdRun(ctx context.Context, at workspace) (err error) {
	hub, err := at.startHub(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hub.stop()) }()
	s := &crowdScenario{hub: hub, out: at.out, owner: newClient(hub.hub)}
	if err := s.signIn(ctx); err != nil {
		return fmt.Errorf("sign in as owner: %w", err)
	}
	// A locked hub refuses answers by the program that asked, and this program does both.
	if err := s.owner.post(ctx, schema.PathLock, map[string]bool{"locked": false}, nil); err != nil {
		return fmt.Errorf("unlock: %w", err)
	}
	return s.run(ctx)
}

// crowdScenario is one run with a signed-in owner.
type crowdScenario struct {
	hub   *hubProcess
	out   io.Writer
	owner *client // opens a connection for each request, as the worst case
}

var signInCode = regexp.MustCompile(`#sign-in=([\w-]+)`)

// signIn becomes the owner of the hub.
func (s *crowdScenario) signIn(ctx context.Context) error {
	printed := s.hub.stderr.Bytes()
	if file, err := os.ReadFile(filepath.Join(s.hub.dir, "sign-in-link")); err == nil {
		printed = file
	}
	code := signInCode.FindSubmatch(printed)
	if code == nil {
		return errors.New("the hub offers no sign-in link")
	}
	var err error
	if s.owner.http.Jar, err = cookiejar.New(nil); err != nil {
		return err
	}
	s.owner.http.Transport = &http.Transport{DisableKeepAlives: true}
	s.owner.http.Timeout = 70 * time.Second // a hook waits for up to a minute
	var in schema.SignInResult
	if err := s.owner.post(ctx, schema.PathSignIn, schema.SignInRequest{Code: string(code[1]), Name: "ada"}, &in); err != nil {
		return err
	}
	s.owner.header.Set(schema.KeyHeader, in.Key)
	return nil
}

// run measures the owner alone and with each crowd.
func (s *crowdScenario) run(ctx context.Context) error {
	question, err := s.owner.ask(ctx, "Who waits?")
	if err != nil {
		return err
	}
	idle, err := s.answerMany(ctx)
	if err != nil {
		return fmt.Errorf("without a crowd: %w", err)
	}
	before, err := s.memory()
	if err != nil {
		return err
	}
	for _, kind := range []string{"pull", "half"} {
		stop, result, err := s.startCrowd(ctx, kind, question)
		if err != nil {
			return fmt.Errorf("start the crowd: %w", err)
		}
		beside, err := s.answerMany(ctx)
		var decision string
		if err == nil {
			decision, err = s.hook(ctx)
		}
		after, memoryErr := s.memory()
		err = errors.Join(err, memoryErr, stop())
		if err != nil {
			return fmt.Errorf("with %d connections (%s): %w", crowdSize, kind, err)
		}
		grown := after - before
		fmt.Fprintf(s.out, "crowd %s: %d connections, %d refused with 503, %d closed; owner's answer p99 %.1f ms alone, %.1f ms with them (%.2f×); hook: %s; hub grew by %.1f MiB\n",
			kind, crowdSize, result.refused, result.closed, milliseconds(idle), milliseconds(beside),
			float64(beside)/float64(idle), decision, float64(grown)/(1<<20))
		if grown > crowdMemory {
			return fmt.Errorf("the hub grew by %d bytes, more than %d", grown, crowdMemory)
		}
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// answerMany asks and answers, and returns the 99th percentile of the answers' duration.
func (s *crowdScenario) answerMany(ctx context.Context) (time.Duration, error) {
	var took []time.Duration
	for i := range crowdRounds {
		id, err := s.owner.ask(ctx, "Question "+strconv.Itoa(i))
		if err != nil {
			return 0, err
		}
		start := time.Now()
		if err := s.owner.approve(ctx, id); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)*99/100], nil
}

// hook sends a permission request of Claude Code, which waits until the owner answers it, and returns
// the decision.
func (s *crowdScenario) hook(ctx context.Context) (string, error) {
	// An agent with its own prompt waits also if no one has the dashboard open.
	s.owner.header.Set(hook.ClaudeEntrypointHeader, "cli")
	input := json.RawMessage(`{"hook_event_name":"PermissionRequest","session_id":"hook","cwd":"/","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"true"}}`)
	var reply json.RawMessage
	done := make(chan error, 1)
	go func() { done <- s.owner.post(ctx, schema.PathClaudeCode+"?limit=60", input, &reply) }()
	for {
		var page []schema.Event
		if err := s.owner.get(ctx, schema.PathEvents+"?status=pending&session_id=hook", &page); err != nil {
			return "", err
		}
		if len(page) > 0 {
			if err := s.owner.approve(ctx, page[0].ID); err != nil {
				return "", err
			}
			break
		}
		select {
		case err := <-done:
			return "", errors.Join(fmt.Errorf("the hook got %q before anyone answered", reply), err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	err := <-done
	if err == nil && !strings.Contains(string(reply), `"allow"`) {
		err = fmt.Errorf("the hook got %q", reply)
	}
	return "allow", err
}

// memory returns the resident memory of the hub in bytes.
func (s *crowdScenario) memory() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.hub.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("no VmRSS in /proc/PID/status")
}

// crowdResult counts the connections that the hub refused, or closed as the oldest idle ones.
type crowdResult struct{ refused, closed int }

// startCrowd starts this program as another process that opens the connections.
func (s *crowdScenario) startCrowd(ctx context.Context, kind string, id schema.EventID) (stop func() error, result crowdResult, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, result, err
	}
	child := exec.CommandContext(ctx, self, crowdCommand, s.hub.addr, kind, id.String())
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		return nil, result, err
	}
	out, err := child.StdoutPipe()
	if err != nil {
		return nil, result, err
	}
	if err := child.Start(); err != nil {
		return nil, result, err
	}
	stop = func() error { return errors.Join(in.Close(), child.Wait()) }
	if _, err := fmt.Fscanln(bufio.NewReader(out), &result.refused, &result.closed); err != nil {
		return nil, result, errors.Join(err, stop())
	}
	return stop, result, nil
}

// joinCrowd is the child process: it opens the connections, prints how many were refused, and keeps
// the others open until stdin ends.
func joinCrowd(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: crowd-of ADDR pull|half ID")
	}
	addr, kind, id := args[0], args[1], args[2]
	head := "POST " + schema.PathEvents + " HTTP/1.1\r\nHost: " + addr + "\r\nContent-Le" // half a head
	if kind == "pull" {
		head = "GET /events/" + id + "/response?wait=60 HTTP/1.1\r\nHost: " + addr + "\r\n\r\n"
	}
	var refused, closed atomic.Int64
	for range crowdSize {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, head) // fails if the hub has closed the connection already
		go func() {
			switch line, _ := bufio.NewReader(conn).ReadString('\n'); {
			case strings.Contains(line, " 503 "):
				refused.Add(1)
			case line == "":
				closed.Add(1)
			}
		}()
	}
	// The hub has decided on all connections when nothing changes any more.
	for last := int64(-1); last != refused.Load()+closed.Load(); {
		last = refused.Load() + closed.Load()
		time.Sleep(3 * time.Second)
	}
	fmt.Println(refused.Load(), closed.Load())
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}
