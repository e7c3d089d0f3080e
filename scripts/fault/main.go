// Fault breaks a real hub in every way it promises to survive and counts what was
// lost. It builds the hub's binary, runs it as a process of its own on a free
// loopback port with a database in a temporary folder, and stops what it started.
//
//	go run ./scripts/fault                 every run below
//	go run ./scripts/fault kill            200 × kill -9 under 16,000 concurrent questions
//	go run ./scripts/fault disk            a full disk (needs root: mounts a small tmpfs)
//	go run ./scripts/fault power           40 power cuts (needs root: a loop-mounted ext4 that is cut off)
//
// The exit status is 0 when every promise was kept.
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
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout)) }

// run carries out the named runs, all of them unless told, and returns the exit status.
func run(ctx context.Context, args []string, out io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	flags := flag.NewFlagSet("fault", flag.ContinueOnError)
	flags.SetOutput(out)
	load := defaultLoad
	flags.IntVar(&load.Kills, "kills", load.Kills, "how often the hub is killed")
	flags.IntVar(&load.Questions, "questions", load.Questions, "how many questions are asked")
	flags.IntVar(&load.Agents, "agents", load.Agents, "how many agents ask at the same time")
	cuts := flags.Int("cuts", 40, "how often the power is cut")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	dir, err := os.MkdirTemp("", "hookback-fault-")
	if err != nil {
		fmt.Fprintln(out, "no temporary folder:", err)
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
		{"kill", func() error { return killRun(ctx, site{bin, filepath.Join(dir, "kill"), out}, load) }},
		{"disk", func() error { return diskRun(ctx, site{bin, filepath.Join(dir, "disk"), out}) }},
		{"power", func() error { return powerRun(ctx, site{bin, filepath.Join(dir, "power"), out}, *cuts) }},
	}
	failed := 0
	for _, r := range runs {
		if flags.NArg() > 0 && !slices.Contains(flags.Args(), r.name) {
			continue
		}
		switch err := r.do(); {
		case errors.Is(err, errNoRoot):
			fmt.Fprintf(out, "%s: %v\n", r.name, err)
		case err != nil:
			failed++
			fmt.Fprintf(out, "%s: BROKEN: %v\n", r.name, err)
		default:
			fmt.Fprintf(out, "%s: ok\n", r.name)
		}
	}
	if failed > 0 {
		return 1
	}
	return 0
}
