package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/fakehub"
)

var update = flag.Bool("update", false, "rewrite the goldens; review the diff before committing it")

// The help of every command is a golden in testdata/help.
func TestRun_HelpIsGolden(t *testing.T) {
	t.Parallel()
	b := &hubHarness{ctx: context.Background(), hub: &fakehub.Hub{}}
	for _, words := range []string{
		"", "ask", "hook", "install", "uninstall", "trust", "mcp", "policy", "policy init", "policy check", "policy test",
		"up", "service", "pair", "freeze", "doctor", "send", "report", "verify", "receipt", "wait",
	} {
		got := b.run(b.ctx, "", append(strings.Fields(words), "--help")...)
		require.Equal(t, cliResult{0, got.out, ""}, got, words)
		file := filepath.Join("testdata", "help", strings.Join(append([]string{"hookback"}, strings.Fields(words)...), "-")+".txt")
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, []byte(got.out), 0o600))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), got.out, words)
	}
	for _, c := range commands {
		if c.name != "version" && c.name != "server" { // without flags, or with the flags of hookback-server
			require.FileExists(t, filepath.Join("testdata", "help", "hookback-"+c.name+".txt"))
		}
	}
}

// The hub's copy of the calls that only read is current. Every command is in it, also one without such calls.
func TestCommands_HubKnowsWhichCallsRead(t *testing.T) {
	t.Parallel()
	const file = "../../../server/internal/risk/oversight/hookback.txt"
	list := "# Commands of hookback and their calls that only read, from its table of commands.\n" +
		"# go test ./agentclient/cmd/hookback -run HubKnows -update writes this file.\n"
	for _, c := range commands {
		list += strings.TrimSpace(c.name+": "+strings.TrimSpace(c.reads)) + "\n"
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(list), 0o600))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, list, string(got))
}
