// Command bench runs the benchmarks of server/docs/guide/performance.md and prints each figure next
// to its goal. Servers that are compared run in turn, in several rounds, and the values are
// medians.
//
//	go run ./scripts/bench                           the hub, and a program of its libraries that does the least
//	go run ./scripts/bench -reference DIR -durable   the hub and a copy of the server in DIR that flushes each commit, as the hub does
//	go run ./scripts/bench -reference DIR            the same, with that server as it is
//	go run ./scripts/bench -history DIR              the queries of a long history, which is kept in DIR
//	go run ./scripts/bench -scale                    PostgreSQL against SQLite, and two hubs against one
//
// The exit status is 0 if everything was measured, whether or not a goal is met.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// suite is a set of benchmarks of one package.
type suite struct {
	folder, pattern, duration string
	rounds                    int
	environment               []string
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	reference := flags.String("reference", "", "`folder` of a checkout of the reference server; BUN names the program that runs it")
	durable := flags.Bool("durable", false, "with -reference: run a copy of that server that flushes each commit to the disk, as the hub does")
	history := flags.String("history", "", "`folder` in which databases with a long history are kept")
	events := flags.Int64("events", 3_000_000, "events of that history")
	scale := flags.Bool("scale", false, "compare PostgreSQL with SQLite, and two hubs on PostgreSQL with one")
	rounds := flags.Int("rounds", 3, "rounds of the loads")
	if err := flags.Parse(args); err != nil {
		return err
	}
	compared := references
	if !*durable {
		compared = references.withoutGoals("Against the reference server, which does not flush its commits")
	}
	suites, tables := []suite{
		{"server/hubtest", "^Benchmark(Paced|Flood)$", "4s", *rounds, nil},
		{"server/hubtest", "^BenchmarkAsk$", "8s", *rounds, nil},
	}, []table{feel, compared, floors, budgets}
	switch {
	case *history != "":
		suites = []suite{{"server/hubtest", "^BenchmarkHistory$", "1x", 1, []string{
			"HOOKBACK_BENCH_HISTORY=" + *history, "HOOKBACK_BENCH_EVENTS=" + strconv.FormatInt(*events, 10),
		}}}
		tables = []table{histories}
	case *scale:
		suites = []suite{
			{"server/hubtest", "^BenchmarkScale$", "20x", *rounds, nil},
			{"server/hubtest", "^BenchmarkOtherHub$", "3000x", 1, nil},
			{"server/internal/storetest", "^Benchmark(Ingest|Apply)$", "20x", *rounds, nil},
		}
		tables = []table{hubsAndEngines, versusSQLite}
	case *reference != "":
		for i := range suites {
			suites[i].environment = []string{"HOOKBACK_BENCH_REFERENCE=" + *reference}
			if *durable {
				suites[i].environment = append(suites[i].environment, "HOOKBACK_BENCH_DURABLE=1")
			}
		}
	default:
		tables = append(tables, versusSQLite, maintenance)
		suites = append(suites,
			suite{"server/hubtest", "^Benchmark(OnePoster|Stalled|Start)$", "1s", 1, nil},
			suite{"server/internal/httpapi", "^BenchmarkStreamMemory$", "1s", 1, nil},
			suite{"server/internal/store/sqlite", "^Benchmark(AppendDuringPrune|Backup)$", "5x", 1, nil},
			suite{"server/internal/storetest", "^BenchmarkIngest$", "20x", *rounds, nil},
			suite{"agentclient/cmd/hookback", "^BenchmarkHook$", "200x", 1, nil},
		)
	}
	found := results{}
	var errs []error
	for _, s := range suites {
		errs = append(errs, s.run(ctx, found))
	}
	for _, t := range tables {
		found.write(out, t)
	}
	return errors.Join(errs...)
}

// run builds the package's test binary once and runs it in rounds.
func (s suite) run(ctx context.Context, found results) error {
	dir, err := os.MkdirTemp("", "hookback-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary := filepath.Join(dir, "benchmarks")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, "./"+s.folder)
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the benchmarks of %s: %w", s.folder, err)
	}
	for round := range s.rounds {
		fmt.Fprintf(os.Stderr, "%s %s, round %d of %d\n", s.folder, s.pattern, round+1, s.rounds)
		if err := s.runOnce(ctx, binary, found); err != nil {
			return fmt.Errorf("benchmarks of %s: %w", s.folder, err)
		}
	}
	return nil
}

func (s suite) runOnce(ctx context.Context, binary string, found results) error {
	cmd := exec.CommandContext(ctx, binary, "-test.run", "^$", "-test.bench", s.pattern, "-test.benchtime", s.duration, "-test.timeout", "3h")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Dir = s.folder
	cmd.Env = append(os.Environ(), s.environment...)
	cmd.Stderr = os.Stderr
	output, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return errors.Join(found.read(output, os.Stderr), cmd.Wait())
}
