// Command demo plays several coding agents for a while: they tell the hub what
// they do, and ask. Answer them in the dashboard.
//
//	go run ./server          # in one terminal
//	go run ./scripts/demo    # in another
//
// Nothing is run and no file is touched: the tool calls are theatre.
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
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hookback/hookback/agentclient"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	hub := os.Getenv("HOOKBACK_URL")
	if hub == "" {
		hub = agentclient.DefaultHub
	}
	os.Exit(run(ctx, os.Args[1:], hub, os.Stdout))
}

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, hub string, out io.Writer) int {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&hub, "hub", hub, "`address` of the hub; HOOKBACK_URL says it too")
	duration := flags.Duration("duration", 2*time.Minute, "how long to play, a `duration`")
	speed := flags.Float64("speed", 1, "how `many` times as fast as people work")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if *speed <= 0 || *duration <= 0 {
		fmt.Fprintln(out, "demo: -speed and -duration must be more than nothing")
		return 2
	}
	hub = strings.TrimRight(hub, "/")
	s := &stage{hub: hub, speed: *speed, out: out}
	switch rest := flags.Args(); {
	case len(rest) == 1 && rest[0] == doomed:
		return s.playDoomed(ctx)
	case len(rest) > 0:
		fmt.Fprintf(out, "demo: %q means nothing here; -help lists the flags\n", rest[0])
		return 2
	}
	if err := reachable(ctx, hub); err != nil {
		fmt.Fprintf(out, "demo: no hub answers at %s (%v).\nStart one in another terminal with: go run ./server\n", hub, err)
		return 1
	}
	ctx, cancel := context.WithTimeout(ctx, *duration)
	defer cancel()
	fmt.Fprintf(out, "%d agents work for %v. Answer them at %s (Ctrl-C stops).\n\n", len(cast), *duration, hub)
	s.play(ctx)
	fmt.Fprintf(out, "\nThe demo is over: %s.\n", s.count())
	return 0
}

func reachable(ctx context.Context, hub string) error {
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
		return fmt.Errorf("it says %s", res.Status)
	}
	return nil
}

// stage is what all agents share.
type stage struct {
	hub   string
	speed float64

	mu    sync.Mutex // guards out and tally
	out   io.Writer
	tally tally
}

// tally counts what was played.
type tally struct{ sessions, events, asked, answered, unanswered int }

// play runs every agent of the cast, one session after the other, until ctx ends.
func (s *stage) play(ctx context.Context) {
	var agents sync.WaitGroup
	for i, part := range cast {
		agents.Go(func() {
			// Not everybody starts to work in the same second.
			for err := s.pause(ctx, time.Duration(i)*700*time.Millisecond); err == nil; {
				err = s.session(ctx, part)
			}
		})
	}
	agents.Wait()
}

// session plays one session of one agent. Its error is what ended the demo.
func (s *stage) session(ctx context.Context, p part) error {
	a := newAgent(s, p)
	defer a.client.Close()
	s.note(func(t *tally) { t.sessions++ })
	for _, step := range p.steps {
		err := step(ctx, a)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			a.say("stops: %v", err)
			return s.pause(ctx, 5*time.Second)
		}
	}
	return s.pause(ctx, 8*time.Second)
}

// pause waits for d at the demo's speed.
func (s *stage) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(s.scaled(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *stage) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / s.speed)
}

func (s *stage) note(count func(*tally)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	count(&s.tally)
}

func (s *stage) print(who, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "%s  %-15s %s\n", time.Now().Format("15:04:05"), who, text)
}

func (s *stage) count() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tally
	return fmt.Sprintf("%d sessions, %d events, %d questions, %d answered, %d not", t.sessions, t.events, t.asked, t.answered, t.unanswered)
}
