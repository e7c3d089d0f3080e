package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

const receiptQuestion = "Deploy?\n\x1b[2J"

// receiptFiles are the files of one CI job.
type receiptFiles struct{ dir, receipt, key string }

// newReceiptFiles writes the receipt of an approval, after change.
func newReceiptFiles(t *testing.T, change ...func(*sign.Statement)) receiptFiles {
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	yes := true
	call := sign.CallDigest("Bash", []byte(`{"command":"make deploy"}`))
	question := sha256.Sum256([]byte(receiptQuestion))
	statement := sign.Statement{
		Type: sign.StatementType, PredicateType: sign.DecisionType,
		Subject: []sign.Subject{
			{Name: sign.AskSubject, Digest: map[string]string{"sha256": hex.EncodeToString(make([]byte, 32))}},
			{Name: sign.CallSubject, Digest: map[string]string{"sha256": hex.EncodeToString(call[:])}},
			{Name: sign.CommitSubject, Digest: map[string]string{"gitCommit": strings.Repeat("a", 40)}},
			{Name: sign.QuestionSubject, Digest: map[string]string{"sha256": hex.EncodeToString(question[:])}},
		},
		Predicate: sign.SignedDecision{
			EventID: 12, App: "ci\x1b[2J", Tool: "Bash", Outcome: schema.Approve, Source: schema.ByHuman, RespondedAt: schema.Millis(time.Now().UnixMilli()),
			Answer: sign.SignedAnswer{Permission: &yes}, RespondedBy: &schema.Responder{Name: "ada", Verified: true, Via: "session"},
		},
	}
	for _, apply := range change {
		apply(&statement)
	}
	payload, err := json.Marshal(statement)
	require.NoError(t, err)
	f := receiptFiles{dir: t.TempDir()}
	envelope := schema.SignEnvelope(schema.StatementPayload, payload, private)
	text, err := json.Marshal(sign.Receipt{Envelope: envelope, Question: receiptQuestion})
	require.NoError(t, err)
	f.receipt = f.write(t, "approval.json", string(text))
	f.key = f.write(t, "hub.pub", "# the hub\nhttp://127.0.0.1:4000 ed25519 "+sign.FormatPublicKey(public)+"\n")
	pkix, err := x509.MarshalPKIXPublicKey(public)
	require.NoError(t, err)
	f.write(t, "hub.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pkix})))
	f.write(t, "bare.pub", sign.FormatPublicKey(public))
	f.write(t, "args.json", `{ "command" : "make deploy" }`)
	return f
}

func (f receiptFiles) write(t *testing.T, name, text string) string {
	path := filepath.Join(f.dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func (f receiptFiles) verify(t *testing.T, stdin string, args ...string) cliResult {
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "DIR", f.dir)
	}
	var out, stderr bytes.Buffer
	status := run(t.Context(), append([]string{"receipt", "verify"}, args...), func(string) string { return "" }, cli.Streams{In: strings.NewReader(stdin), Out: &out, Err: &stderr})
	return cliResult{status, out.String(), stderr.String()}
}

func TestReceipt_Verify(t *testing.T) {
	t.Parallel()
	f := newReceiptFiles(t)
	text, err := os.ReadFile(f.receipt)
	require.NoError(t, err)
	for _, key := range []string{"hub.pub", "hub.pem", "bare.pub"} {
		got := f.verify(t, "", f.receipt, "--key", filepath.Join(f.dir, key), "--need", "ada", "--call", "Bash=DIR/args.json", "--commit", strings.Repeat("a", 40), "--max-age", "24h",
			"--app", "ci\x1b[2J", "--question", receiptQuestion)
		require.Equal(t, cli.ExitOK, got.status, "%s: %s%s", key, got.out, got.err)
		require.Contains(t, got.out, `holds: request 12 ("ci\x1b[2J, Bash") was approved at`, "control characters are quoted")
		require.Contains(t, got.out, "\nquestion: \"Deploy?\\n\\x1b[2J\"\ncommit: "+strings.Repeat("a", 40)+
			"\nasked by: a program without a token\nby: ada, signed in\n")
		require.Equal(t, got, f.verify(t, string(text), "-", "--key", f.key), "from stdin")
		require.NotContains(t, got.out, "\x1b")
	}
	for _, args := range [][]string{
		{"--need", "grace"}, {"--passkey"}, {"--commit", strings.Repeat("b", 40)}, {"--call", "Bash=DIR/bare.pub"}, {"--person-key", "ada=DIR/hub.pem"}, {"--max-age", "1ns"},
		{"--question", "Deploy?"}, {"--app", "ci"},
	} {
		got := f.verify(t, "", append([]string{f.receipt, "--key", f.key}, args...)...)
		require.Equal(t, cli.ExitProblem, got.status, "%v: %s%s", args, got.out, got.err)
		require.True(t, strings.HasPrefix(got.out, "the receipt does not hold: "), got.out)
	}
	other := newReceiptFiles(t)
	require.Equal(t, cli.ExitProblem, f.verify(t, "", f.receipt, "--key", other.key).status, "another hub's key")
}

// TestReceipt_VerifyRequiresVerifiedPersonOtherThanRequester: an exception takes its own flag.
func TestReceipt_VerifyRequiresVerifiedPersonOtherThanRequester(t *testing.T) {
	t.Parallel()
	flags := []string{"--allow-rule", "--allow-unverified", "--allow-self"}
	for i, change := range []func(*sign.Statement){
		func(s *sign.Statement) { s.Predicate.Source, s.Predicate.Rule = schema.ByRule, &schema.RuleRef{ID: 7} },
		func(s *sign.Statement) { s.Predicate.RespondedBy.Verified = false },
		func(s *sign.Statement) { s.Predicate.Requester = "ada" },
	} {
		f := newReceiptFiles(t, change)
		got := f.verify(t, "", f.receipt, "--key", f.key)
		require.Equal(t, cli.ExitProblem, got.status, "%s: %s%s", flags[i], got.out, got.err)
		for j, flag := range flags {
			got := f.verify(t, "", f.receipt, "--key", f.key, flag)
			require.Equal(t, i == j, got.status == cli.ExitOK, "%s for %s: %s%s", flag, flags[i], got.out, got.err)
		}
	}
}

// TestReceipt_VerifyPrintsWhatAnOlderHubDidNotRecord: such a receipt holds for no question or commit.
func TestReceipt_VerifyPrintsWhatAnOlderHubDidNotRecord(t *testing.T) {
	t.Parallel()
	f := newReceiptFiles(t, func(s *sign.Statement) { s.Subject = s.Subject[:3] })
	got := f.verify(t, "", f.receipt, "--key", f.key)
	require.Equal(t, cli.ExitOK, got.status, got.out+got.err)
	require.Contains(t, got.out, "\nquestion: not recorded, its hub is an older one\n"+
		"commit: "+strings.Repeat("a", 40)+", not shown by that hub\nasked by: not recorded\n")
	require.Equal(t, cli.ExitProblem, f.verify(t, "", f.receipt, "--key", f.key, "--question", receiptQuestion).status)
	require.Equal(t, cli.ExitProblem, f.verify(t, "", f.receipt, "--key", f.key, "--commit", strings.Repeat("a", 40)).status)
}

func TestReceipt_ReportsUnreadableInput(t *testing.T) {
	t.Parallel()
	f := newReceiptFiles(t)
	f.write(t, "empty", "")
	for _, args := range [][]string{
		{"DIR/missing", "--key", f.key}, {"DIR/empty", "--key", f.key}, {f.receipt, "--key", "DIR/missing"}, {f.receipt, "--key", "DIR/empty"},
		{f.receipt, "--key", "DIR/args.json"}, {f.receipt, "--key", f.key, "--call", "Bash"}, {f.receipt, "--key", f.key, "--call", "Bash=DIR/missing"},
		{f.receipt, "--key", f.key, "--person-key", "ada"}, {f.receipt, "--key", f.key, "--person-key", "ada=DIR/args.json"},
		{f.receipt, "--key", f.key, "--max-age", "-1h"}, {f.receipt, "more"}, {},
		{f.receipt, "--key", f.key, "--commit", ""}, {f.receipt, "--key", f.key, "--question="}, {f.receipt, "--key", f.key, "--app", ""},
	} {
		got := f.verify(t, "", args...)
		require.Equal(t, cli.ExitError, got.status, "%v: %s", args, got.out)
		require.Empty(t, got.out, args)
		require.NotEmpty(t, got.err, args)
	}
}
