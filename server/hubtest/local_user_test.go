//go:build linux

package hubtest_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// nobody is an account that is not the hub's.
const nobody = 65534

// callAs runs the requests in a process of another account, or of this one, and returns
// their statuses.
func callAs(t *testing.T, uid uint32, hub string, calls ...string) string {
	t.Helper()
	// The other account cannot enter the directory of the test binary.
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", calls...)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), roleVariable+"=caller", hubVariable+"="+hub, "HOME=/")
	cmd.Stderr = os.Stderr
	if int(uid) != os.Getuid() {
		if os.Getuid() != 0 {
			t.Skip("only root can start a process of another account")
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	out, err := cmd.Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// everyKindOfCall is a read, a post, an answer and a public route.
func everyKindOfCall(question schema.EventID) []string {
	return []string{
		"GET " + schema.PathRecent, "POST " + schema.PathEvents, "POST " + schema.At(schema.PathRespond, question), "GET " + schema.PathHealth,
	}
}

// TestLocalUsers_OtherAccountNeedsCredentials: only programs of the hub's own account and
// root are trusted without credentials.
func TestLocalUsers_OtherAccountNeedsCredentials(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	asked, err := postJSON(t.Context(), hub.URL()+schema.PathEvents, schema.Event{
		SourceApp: "a", SessionID: "s", HookEventType: "Ask", Payload: []byte("{}"),
		HumanInTheLoop: &schema.HumanInTheLoop{Question: "May I?", Type: schema.Permission},
	})
	require.NoError(t, err)
	require.Equal(t, "401 401 401 200", callAs(t, nobody, hub.URL(), everyKindOfCall(asked.ID)...))
	require.Equal(t, schema.Pending, statusOf(t, hub, asked.ID).Status)
	require.Equal(t, "200 200 200 200", callAs(t, uint32(os.Getuid()), hub.URL(), everyKindOfCall(asked.ID)...))
}

// TestLocalUsers_Flag admits more accounts.
func TestLocalUsers_Flag(t *testing.T) {
	t.Parallel()
	for users, want := range map[string]string{"own": "401", "all": "200", "65534": "200", "root": "401"} {
		hub := hubtest.Start(t, hubtest.LocalUsers(users))
		require.Equal(t, want, callAs(t, nobody, hub.URL(), "POST "+schema.PathEvents), users)
	}
}
