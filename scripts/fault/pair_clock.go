package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// skewVariable has the seconds by which the clock of a hub with a moved clock is ahead.
const skewVariable = "HOOKBACK_FAULT_SKEW"

// buildSkewed compiles a hub whose wall clock is moved, as if the clock of its machine were wrong. The
// monotonic clock is not. It replaces the function time.Now of the standard library.
func buildSkewed(ctx context.Context, dir string) (bin string, err error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output() // a binary built with -trimpath doesn't know it
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	const read = "sec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(text), read) == 0 {
		return "", fmt.Errorf("%w: time.Now of %s is not as expected", errSkipped, runtime.Version())
	}
	moved := strings.ReplaceAll(string(text), read, read+"\tsec += skew\n") + `
var skew = func() (seconds int64) {
	text, _ := syscall.Getenv("` + skewVariable + `")
	sign := int64(1)
	for _, c := range []byte(text) {
		if c == '-' {
			sign = -1
		} else {
			seconds = 10*seconds + int64(c-'0')
		}
	}
	return sign * seconds
}()
`
	if !strings.Contains(moved, "\t\"syscall\"\n") {
		moved = strings.Replace(moved, "import (\n", "import (\n\t\"syscall\"\n", 1)
	}
	file, overlay := filepath.Join(dir, "time.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: file}})
	if err == nil {
		err = errors.Join(os.WriteFile(file, []byte(moved), 0o600), os.WriteFile(overlay, replace, 0o600))
	}
	if err != nil {
		return "", err
	}
	bin = filepath.Join(dir, "hookback-server-skewed")
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", bin, "github.com/hookback/hookback/server")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build a hub with a moved clock: %w\n%s", err, out)
	}
	return bin, nil
}

// pairClockRun moves the clock of one hub by an hour, forward and back. Nothing ends early or is stored at
// another time, even if that hub leads.
func pairClockRun(ctx context.Context, at workspace) error {
	if err := os.MkdirAll(at.dir, 0o700); err != nil {
		return err
	}
	skewed, err := buildSkewed(ctx, at.dir)
	if err != nil {
		return err
	}
	for _, skew := range []time.Duration{time.Hour, -time.Hour} {
		run := workspace{at.bin, filepath.Join(at.dir, skew.String()), at.out}
		if err := run.pairWithClock(ctx, skewed, skew); err != nil {
			return fmt.Errorf("one clock moved by %s: %w", skew, err)
		}
	}
	return nil
}

func (w workspace) pairWithClock(ctx context.Context, skewed string, skew time.Duration) (err error) {
	p, err := w.startPair(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	moved := p.hubs[1]
	if err := moved.stop(); err != nil {
		return err
	}
	moved.bin, moved.env = skewed, append(moved.env, skewVariable+"="+strconv.Itoa(int(skew.Seconds())))
	if err := moved.start(ctx); err != nil {
		return err
	}
	if err := requireMoved(ctx, moved, skew); err != nil {
		return err
	}
	known := filepath.Join(w.dir, "known_hubs")
	for i := range 10 {
		agent, people := p.hubs[i%2], p.hubs[1-i%2]
		if _, err := answerThrough(ctx, []string{agent.hub}, people, i, known); err != nil {
			return err
		}
	}
	if err := p.requireOneClock(ctx, 10); err != nil {
		return err
	}
	if err := p.hubs[0].stop(); err != nil { // now the hub with the moved clock leads
		return err
	}
	if _, err := answerThrough(ctx, []string{moved.hub}, moved, 10, known); err != nil {
		return err
	}
	sleep(ctx, 2*time.Second) // retention runs when a hub begins to lead
	if err := errors.Join(p.requireOneClock(ctx, 11), p.verifyLog(ctx)); err != nil {
		return err
	}
	fmt.Fprintf(w.out, "pair-clock: one clock moved by %s: 11 of 11 right answers, none ended by its deadline, all times within a minute of the database\n", skew)
	return p.hubs[0].start(ctx)
}

// requireMoved fails unless the hub measures that its own clock is moved.
func requireMoved(ctx context.Context, hub *hubProcess, skew time.Duration) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, hub.hub+"/metrics", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	const name = "\nhookback_database_clock_offset_seconds "
	_, value, _ := strings.Cut(string(text), name)
	value, _, _ = strings.Cut(value, "\n")
	offset, err := strconv.ParseFloat(value, 64)
	if err != nil || math.Abs(offset+skew.Seconds()) > 60 {
		return fmt.Errorf("the clock of the hub is not moved: the database is %q seconds ahead", value)
	}
	return nil
}

// requireOneClock fails if a row has another time than the database's clock, a question ended by its
// deadline, or events are missing.
func (p *pair) requireOneClock(ctx context.Context, questions int) error {
	const query = `SELECT count(*) FILTER (WHERE abs(received_at - extract(epoch FROM clock_timestamp()) * 1000) > 60000)
			|| ' ' || (SELECT count(*) FROM questions WHERE state = 'timeout' OR deadline > 0 AND deadline < changed_at)
			|| ' ' || count(*) FILTER (WHERE asks) FROM events`
	found, err := p.postgres.query(ctx, pairDatabase, query)
	if want := fmt.Sprintf("0 0 %d", questions); err == nil && strings.TrimSpace(found) != want {
		err = fmt.Errorf("events at another time, questions that timed out, questions: %s in place of %s", strings.TrimSpace(found), want)
	}
	return err
}
