package up

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// fakeMode names the variable that makes this test binary a fake hub, and its behavior.
const fakeMode = "HOOKBACK_TEST_FAKE_SERVER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeMode); mode != "" {
		os.Exit(fakeServer(mode, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// fakeServer speaks the part of hookback-server that this package uses.
func fakeServer(mode string, args []string) int {
	line := strings.Join(args, " ")
	if os.Getenv("HOOKBACK_TEST_REQUEST") == "true" {
		line += " with a test request"
	}
	if file := os.Getenv("FAKE_ARGS"); file != "" {
		if args[0] == "import" {
			file += ".import"
		}
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // a test's file
		if err != nil {
			return 1
		}
		_, _ = fmt.Fprintln(f, line)
		_ = f.Close()
	}
	if args[0] == "import" {
		fmt.Println("Imported 2 sessions")
		return 0
	}
	if mode == "crash" {
		for i := range 30 {
			fmt.Fprintf(os.Stderr, "line %d\n", i)
		}
		fmt.Fprintln(os.Stderr, "hookback-server: the database is locked")
		return 1
	}
	link := os.Getenv("FAKE_LINK")
	if link != "" {
		if os.WriteFile(link, []byte("http://localhost:1/#sign-in=code1234\n"), 0o600) != nil { //nolint:gosec // a test's file
			return 1
		}
	}
	if strings.Contains(line, "-sign-in") {
		fmt.Printf("Start the hub, then open this link.\n\n  %s\n", link)
		return 0
	}
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt, syscall.SIGTERM)
	ln, err := net.Listen("tcp", args[1])
	if err != nil {
		return 1
	}
	go func() { _ = http.Serve(ln, fakeHub("v1.2.3")) }() //nolint:gosec // a test
	ready := link
	if strings.Contains(mode, "owned") {
		ready = ""
	}
	fmt.Printf(`{"url":"http://localhost:1","version":"v1.2.3","signInLink":%q}`+"\n", ready)
	fmt.Fprintln(os.Stderr, "a line of the log")
	if strings.Contains(line, "test request") {
		for _, state := range []string{"saved", "answered", "sent", "delivered", "ran"} {
			fmt.Printf(`{"testRequest":{"id":1,"state":%q,"outcome":"approved"}}`+"\n", state)
		}
	}
	if mode == "dies" {
		return 3
	}
	<-stopped
	fmt.Fprintln(os.Stderr, "stopped")
	return 0
}

// fakeHub answers like a hub of a version.
func fakeHub(version string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/hub", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"hubId":"h1"}`) })
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, `{"version":%q}`, version) })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"status":"ready"}`) })
	return mux
}
