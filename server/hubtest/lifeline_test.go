package hubtest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// hubVariable has the URL of the hub for a child process.
const hubVariable = "HOOKBACK_TEST_HUB"

// noEnv is an environment without variables.
func noEnv(string) string { return "" }

// runAsker is a child process: a hook that asks, prints the question's id, and waits.
func runAsker(ctx context.Context, of string) error {
	agent := agentclient.New(agentclient.Options{Hubs: []string{os.Getenv(hubVariable)}, SourceApp: "test", Unsigned: true, KnownHubs: "/proc/nonexistent/known_hubs", Env: noEnv})
	defer agent.Close() // otherwise the process exits before it acknowledges the answer
	_, err := agent.Ask(ctx, agentclient.Request{
		Question:  "May I?",
		Event:     schema.Event{Agent: of, HumanInTheLoop: &schema.HumanInTheLoop{Lifeline: true}},
		OnWaiting: func(w agentclient.WaitStatus) { fmt.Println(w.EventID) },
	})
	return err
}

// startAsker starts a process that asks and returns the question's id.
func startAsker(t *testing.T, hub *hubtest.Hub) (id schema.EventID, kill func()) {
	t.Helper()
	id, _, kill = startChild(t, hub, "asker")
	return id, kill
}

// startChild starts a process that asks first, and returns the question's id.
func startChild(t *testing.T, hub *hubtest.Hub, role string) (id schema.EventID, stdin io.WriteCloser, kill func()) {
	t.Helper()
	return startChildAt(t, hub.URL(), role)
}

// startChildAt is startChild with an address of the hub.
func startChildAt(t *testing.T, hub, role string) (id schema.EventID, stdin io.WriteCloser, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role, hubVariable+"="+hub)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(func() { _ = stdin.Close(); kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	_, err = fmt.Sscan(line, &id)
	require.NoError(t, err)
	return id, stdin, kill
}

func statusOf(t *testing.T, hub *hubtest.Hub, id schema.EventID) schema.Status {
	t.Helper()
	resp, err := http.Get(hub.URL() + schema.At(schema.PathEvent, id))
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	var e schema.Event
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&e))
	http.DefaultClient.CloseIdleConnections()
	return *e.HumanInTheLoopStatus
}

// TestLiveness_KilledHookClosesQuestion: the question of a hook is closed whether the hook was
// killed while the hub was running or stopped. The question of a live hook stays pending.
func TestLiveness_KilledHookClosesQuestion(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	orphaned := func(id schema.EventID) {
		t.Helper()
		require.Eventually(t, func() bool { return statusOf(t, hub, id).Source == schema.ByOrphaned }, waitLimit, 10*time.Millisecond)
	}
	lives, _ := startAsker(t, hub)
	first, kill := startAsker(t, hub)
	kill()
	orphaned(first)
	second, kill := startAsker(t, hub)
	hub.Stop()
	kill()
	hub.Restart()
	orphaned(second)
	require.Equal(t, schema.Pending, statusOf(t, hub, lives).Status)
	postAnswer(t, hub, lives, `{"permission":true}`)
	require.Eventually(t, func() bool { return statusOf(t, hub, lives).Delivery.State == schema.Acked }, waitLimit, 10*time.Millisecond)
}
