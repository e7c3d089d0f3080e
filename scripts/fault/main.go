// Command fault injects the faults that the hub promises to survive, and counts losses.
// It builds the hub, runs it as a separate process on a free loopback port with a database
// in a temporary folder, and stops every process that it started.
//
//	go run ./scripts/fault                 all runs
//	go run ./scripts/fault kill            200 × kill -9 under 16,000 concurrent questions
//	go run ./scripts/fault disk            a full disk (needs root: mounts a small tmpfs)
//	go run ./scripts/fault crowd           4,096 connections of one program beside the owner
//	go run ./scripts/fault removed         the database is removed while the hub runs
//	go run ./scripts/fault hardlink        a second hub on another name of the database
//	go run ./scripts/fault clock           a start with a clock that is 40 days ahead (needs sqlite3)
//	go run ./scripts/fault io              a disk that fails on fsync and on write (needs root)
//	go run ./scripts/fault power           40 power cuts (needs root: cuts off a loop-mounted ext4)
//	go run ./scripts/fault pair-ask        two hubs on PostgreSQL: the hub of a waiting agent is killed, 20 times
//	go run ./scripts/fault pair-kill       200 × kill -9 of one of two hubs under 16,000 concurrent questions
//	go run ./scripts/fault pair-database   one of two hubs loses the database
//	go run ./scripts/fault pair-restart    crashes of the database server under load
//	go run ./scripts/fault pair-clock      one hub's clock moved by an hour
//	go run ./scripts/fault pair-pause      one of two hubs is paused under load, 50 times
//	go run ./scripts/fault pair-bus        questions are answered on the other hub, without a bus
//	go run ./scripts/fault pair-token      a token that is revoked at one hub is used at the other
//	go run ./scripts/fault pair-start      a second hub starts beside one with a waiting agent
//
// The exit status is 0 if every promise was kept.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == crowdCommand {
		if err := joinCrowd(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "crowd:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout))
}

// isolate removes the variables with which a person configures a hub and its clients, except
// those of the tests.
func isolate() {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "HOOKBACK_") && !strings.HasPrefix(name, "HOOKBACK_TEST_") {
			_ = os.Unsetenv(name)
		}
	}
}

// run executes the named runs, or all, and returns the exit status.
func run(ctx context.Context, args []string, out io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	flags := flag.NewFlagSet("fault", flag.ContinueOnError)
	flags.SetOutput(out)
	load := defaultLoad
	flags.IntVar(&load.Kills, "kills", load.Kills, "number of kills")
	flags.IntVar(&load.Questions, "questions", load.Questions, "number of questions")
	flags.IntVar(&load.Agents, "agents", load.Agents, "number of concurrent agents")
	cuts := flags.Int("cuts", 40, "number of power cuts")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	isolate()
	dir, err := os.MkdirTemp("", "hookback-fault-")
	if err != nil {
		fmt.Fprintln(out, "create temporary folder:", err)
		return 2
	}
	defer func() { _ = os.RemoveAll(dir) }()
	bin, err := build(ctx, dir)
	if err != nil {
		fmt.Fprintln(out, err)
		return 2
	}
	runs := []struct {
		name string
		do   func() error
	}{
		{"kill", func() error { return killRun(ctx, workspace{bin, filepath.Join(dir, "kill"), out}, load) }},
		{"crowd", func() error { return crowdRun(ctx, workspace{bin, filepath.Join(dir, "crowd"), out}) }},
		{"disk", func() error { return diskRun(ctx, workspace{bin, filepath.Join(dir, "disk"), out}) }},
		{"removed", func() error { return removedRun(ctx, workspace{bin, filepath.Join(dir, "removed"), out}) }},
		{"hardlink", func() error { return hardLinkRun(ctx, workspace{bin, filepath.Join(dir, "hardlink"), out}) }},
		{"clock", func() error { return clockRun(ctx, workspace{bin, filepath.Join(dir, "clock"), out}) }},
		{"io", func() error { return ioRun(ctx, workspace{bin, filepath.Join(dir, "io"), out}) }},
		{"power", func() error { return powerRun(ctx, workspace{bin, filepath.Join(dir, "power"), out}, *cuts) }},
		{"pair-ask", func() error { return pairAskRun(ctx, workspace{bin, filepath.Join(dir, "pair-ask"), out}) }},
		{"pair-kill", func() error { return pairKillRun(ctx, workspace{bin, filepath.Join(dir, "pair-kill"), out}, load) }},
		{"pair-database", func() error { return pairDatabaseRun(ctx, workspace{bin, filepath.Join(dir, "pair-database"), out}) }},
		{"pair-restart", func() error {
			return pairRestartRun(ctx, workspace{bin, filepath.Join(dir, "pair-restart"), out}, load)
		}},
		{"pair-pause", func() error { return pairPauseRun(ctx, workspace{bin, filepath.Join(dir, "pair-pause"), out}, load) }},
		{"pair-bus", func() error { return pairBusRun(ctx, workspace{bin, filepath.Join(dir, "pair-bus"), out}) }},
		{"pair-token", func() error { return pairTokenRun(ctx, workspace{bin, filepath.Join(dir, "pair-token"), out}) }},
		{"pair-clock", func() error { return pairClockRun(ctx, workspace{bin, filepath.Join(dir, "pair-clock"), out}) }},
		{"pair-start", func() error { return pairStartRun(ctx, workspace{bin, filepath.Join(dir, "pair-start"), out}) }},
	}
	failed := 0
	for _, r := range runs {
		if flags.NArg() > 0 && !slices.Contains(flags.Args(), r.name) {
			continue
		}
		switch err := r.do(); {
		case errors.Is(err, errSkipped):
			fmt.Fprintf(out, "%s: %v\n", r.name, err)
		case err != nil:
			failed++
			fmt.Fprintf(out, "%s: FAILED: %v\n", r.name, err)
		default:
			fmt.Fprintf(out, "%s: ok\n", r.name)
		}
	}
	if failed > 0 {
		return 1
	}
	return 0
}
