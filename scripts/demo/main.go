// Command demo simulates several coding agents that report to a hub and ask questions.
// Answer them in the dashboard.
//
//	go run ./server          # in one terminal
//	go run ./scripts/demo    # in another
//
// The tool calls are simulated: no command runs and no file changes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hookback/hookback/agentclient"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	hub := os.Getenv("HOOKBACK_URL")
	if hub == "" {
		hub = agentclient.DefaultHub
	}
	os.Exit(run(ctx, os.Args[1:], hub, os.Stdout))
}

// run returns the exit status.
func run(ctx context.Context, args []string, hub string, out io.Writer) int {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&hub, "hub", hub, "`address` of the hub; default HOOKBACK_URL")
	duration := flags.Duration("duration", 2*time.Minute, "`duration` of the demo")
	speed := flags.Float64("speed", 1, "`factor` by which the demo is faster than real agents")
	only := flags.String("only", "", "`names` of the applications to run, separated by commas; default all")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if *speed <= 0 || *duration <= 0 {
		fmt.Fprintln(out, "demo: -speed and -duration must be greater than zero")
		return 2
	}
	hub = strings.TrimRight(hub, "/")
	roles, err := loadScenario()
	if err != nil {
		fmt.Fprintf(out, "demo: scenario.json: %v\n", err)
		return 1
	}
	if roles, err = selectRoles(roles, *only); err != nil {
		fmt.Fprintf(out, "demo: %v\n", err)
		return 2
	}
	s := &simulation{hub: hub, speed: *speed, roles: roles, out: out}
	switch rest := flags.Args(); {
	case len(rest) == 2 && rest[0] == doomed:
		return s.runDoomed(ctx, rest[1])
	case len(rest) > 0:
		fmt.Fprintf(out, "demo: unexpected argument %q; -help lists the flags\n", rest[0])
		return 2
	}
	if err := checkHub(ctx, hub); err != nil {
		fmt.Fprintf(out, "demo: no hub responds at %s (%v).\nStart one in another terminal: go run ./server\n", hub, err)
		return 1
	}
	ctx, cancel := context.WithTimeout(ctx, *duration)
	defer cancel()
	fmt.Fprintf(out, "Running %d agents for %v. Answer them at %s (Ctrl-C stops).\n\n", len(roles), *duration, hub)
	s.run(ctx)
	fmt.Fprintf(out, "\nDemo finished: %s.\n", s.summary())
	return 0
}

// selectRoles returns the roles of the named applications, or all if names is empty.
func selectRoles(roles []role, names string) ([]role, error) {
	if names == "" {
		return roles, nil
	}
	var chosen []role
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(roles, func(r role) bool { return r.App == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("-only: there is no application %q", name)
		}
		chosen = append(chosen, roles[i])
	}
	return chosen, nil
}

func checkHub(ctx context.Context, hub string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, hub+"/events/recent?limit=1", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", res.Status)
	}
	return nil
}

// simulation holds the state that all agents share.
type simulation struct {
	hub   string
	speed float64
	roles []role

	mu    sync.Mutex // guards out and tally
	out   io.Writer
	tally tally
}

// tally counts sessions, events and questions.
type tally struct{ sessions, events, questions, answered, unanswered int }

// run runs every agent of the script, each one session after another, until ctx ends.
func (s *simulation) run(ctx context.Context) {
	var agents sync.WaitGroup
	for i, part := range s.roles {
		agents.Go(func() {
			// Agents start one after another.
			for err := s.pause(ctx, time.Duration(i)*700*time.Millisecond); err == nil; {
				err = s.runSession(ctx, part)
			}
		})
	}
	agents.Wait()
}

// runSession runs one session of an agent. It returns an error only if ctx ended.
func (s *simulation) runSession(ctx context.Context, p role) error {
	a := newAgent(s, p, uuid())
	defer a.client.Close()
	s.updateTally(func(t *tally) { t.sessions++ })
	err := a.play(ctx, p.Steps)
	if err != nil && ctx.Err() == nil {
		a.log("stopped: %v", err)
	}
	if !a.isEnded { // also at the end of the demo: no session and no question is left open
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := a.endSession(end, "other"); err != nil {
			a.log("could not report the end of the session: %v", err)
		}
	}
	return s.pause(ctx, 8*time.Second)
}

// pause waits for d at the demo's speed.
func (s *simulation) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(s.scale(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *simulation) scale(d time.Duration) time.Duration {
	return time.Duration(float64(d) / s.speed)
}

func (s *simulation) updateTally(count func(*tally)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	count(&s.tally)
}

func (s *simulation) print(who, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "%s  %-15s %s\n", time.Now().Format("15:04:05"), who, text)
}

func (s *simulation) summary() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tally
	return fmt.Sprintf("%d sessions, %d events, %d questions, %d answered, %d not", t.sessions, t.events, t.questions, t.answered, t.unanswered)
}
