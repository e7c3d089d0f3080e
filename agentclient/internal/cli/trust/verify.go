package trust

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

const verifyHelp = `hookback verify [FILE] [flags]

Verifies the audit log: the decisions of people, rules and the hub itself, in order.
Each entry contains the hash of the previous entry, so an entry that was changed, removed
or inserted breaks the hash chain. verify names the first such entry and exits 1.

FILE is an export (GET /api/ledger?format=ndjson, or Team, Audit in the dashboard), - is stdin.
Without FILE, verify reads the audit log of the hub.

The chain alone cannot show that its end was cut off. So verify also checks the head that
the hub has signed, and stores the newest entry of each hub for this account: if it is
gone or different next time, the audit log was changed. --forget replaces the stored entry,
for example after you restored a backup. Store the hash that verify prints in another
place, and pass it as --head later, to notice that this account was changed, too.

FILE is compared with the stored entry, too, if this account trusts exactly one hub
(hookback trust): an export does not name its hub. It must contain that entry. For an older
export, pass as --head a hash that was printed then. A FILE is never stored.
`

// maxLedgerEntry is larger than any line that a hub writes.
const maxLedgerEntry = 8 << 20

// ledgerVerifier verifies the hash chain of one audit log.
type ledgerVerifier struct {
	sign.LedgerCheck
	head      string       // the hash of an entry that must exist; empty if there is none
	headFound bool         // an entry with the hash head was read
	known     []knownEntry // entries that must be unchanged
}

// brokenLedgerError is a defect of the audit log, as opposed to an error while reading it.
type brokenLedgerError struct{ error }

// RunVerify runs hookback verify.
func RunVerify(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	f := cli.NewBareFlags("verify", verifyHelp)
	f.AddHubFlags(env)
	head := f.String("head", "", "the `hash` of an entry that must exist, as printed by an earlier run")
	forget := f.Bool("forget", false, "replace the stored entry of the hub by its present one")
	if status, done := f.ParseArgs(args, std); done {
		return status
	}
	v := &ledgerVerifier{head: strings.ToLower(*head)}
	if *forget && len(f.Positional) > 0 {
		return std.PrintError("--forget reads the audit log of the hub, so it takes no FILE")
	}
	if raw, err := hex.DecodeString(v.head); err != nil || len(f.Positional) > 1 || v.head != "" && len(raw) != len(sign.FirstPrev)/2 {
		return std.PrintError("verify takes at most one FILE, and --head takes 64 hex digits; see hookback verify --help")
	}
	err := v.check(ctx, f, std, *forget)
	var broken brokenLedgerError
	switch {
	case errors.As(err, &broken):
		fmt.Fprintf(std.Out, "broken: %v\n", broken.error)
		return cli.ExitProblem
	case err != nil:
		return std.PrintError("%s", cli.ErrorWithHint(err))
	case v.head != "" && !v.headFound:
		fmt.Fprintf(std.Out, "broken: the hash chain of entries 1 to %d is intact, but no entry has the hash %s: entries were cut off or rewritten\n", v.N, v.head)
		return cli.ExitProblem
	case v.N == 0:
		fmt.Fprintln(std.Out, "the audit log has no entries")
	default:
		fmt.Fprintf(std.Out, "intact: the hash chain of entries 1 to %d has no gap and no changed entry\nhead: %s\n", v.N, v.Head)
	}
	return cli.ExitOK
}

func (v *ledgerVerifier) check(ctx context.Context, f *cli.Flags, std cli.Streams, forget bool) error {
	if len(f.Positional) == 0 {
		return v.checkHub(ctx, f, forget)
	}
	if err := v.expectStored(f.Options()); err != nil {
		return err
	}
	file, err := std.Open(f.Positional[0])
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := v.checkFile(file); err != nil || v.head != "" {
		return err // --head states where an older export ends
	}
	return v.checkKnown()
}

// expectStored adds the entries that this account stored of its hub to the known ones of an export.
// With several trusted hubs, the export could be of any of them.
func (v *ledgerVerifier) expectStored(o agentclient.Options) error {
	trust, err := agentclient.LoadTrust(o)
	if err != nil {
		return err
	}
	pins := trust.Pins()
	if slices.ContainsFunc(pins, func(p agentclient.Pin) bool { return !p.Key.Equal(pins[0].Key) && p.Origin != pins[0].Origin }) {
		return nil
	}
	memory := newLedgerMemory(o.KnownHubs)
	if err := memory.load(); err != nil {
		return err
	}
	for _, pin := range pins {
		for _, k := range memory.of(pin) {
			k.when = "when this account last verified the hub that it trusts; an older export, or one of another hub, differs too"
			v.known = append(v.known, k)
		}
	}
	return nil
}

func (v *ledgerVerifier) checkFile(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLedgerEntry)
	for lines.Scan() {
		if err := v.checkEntry(lines.Bytes()); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return brokenLedgerError{fmt.Errorf("entry %d is longer than the maximum of a hub", v.N+1)}
	}
	return lines.Err()
}

// checkHub verifies the audit log of the hub, its signed head, and the entry that this account stored earlier.
func (v *ledgerVerifier) checkHub(ctx context.Context, f *cli.Flags, forget bool) error {
	client := agentclient.New(f.Options())
	defer client.Close()
	hub, pin, err := identifyHub(ctx, f)
	if err != nil && !cli.HasNoKey(err) {
		return err
	}
	memory := newLedgerMemory(f.KnownHubs)
	if err == nil {
		if err := checkTrust(ctx, client, f, hub); err != nil {
			return err
		}
		if err := v.expectSignedHead(ctx, client, pin); err != nil {
			return err
		}
		if err := memory.load(); err != nil {
			return err
		}
		if !forget {
			v.known = append(v.known, memory.of(pin)...)
		}
	}
	if err := v.checkPages(ctx, client); err != nil {
		return err
	}
	if err := v.checkKnown(); err != nil || pin.Key == nil || v.N == 0 {
		return err
	}
	return memory.remember(pin, v.N, v.Head)
}

// checkTrust checks the hub's key against the trusted ones. It never makes first contact, which would
// let the hub's answers count because someone read its audit log.
func checkTrust(ctx context.Context, client *agentclient.Client, f *cli.Flags, hub string) error {
	trust, err := agentclient.LoadTrust(f.Options())
	if err != nil {
		return err
	}
	if len(trust.Pins()) == 0 {
		return nil
	}
	return client.CheckHub(ctx, hub)
}

// expectSignedHead adds the newest head that the hub signed to the known entries.
func (v *ledgerVerifier) expectSignedHead(ctx context.Context, client *agentclient.Client, pin agentclient.Pin) error {
	signed, err := client.LedgerHead(ctx)
	if errors.Is(err, schema.ErrNotFound) {
		return nil // the audit log is empty
	}
	if err != nil {
		return err
	}
	var head sign.LedgerHead
	if err := signed.Verify(schema.HeadPayload, pin.Key); err != nil {
		return brokenLedgerError{fmt.Errorf("the newest head is not signed by the hub's key %s: %w", pin.KeyID(), err)}
	}
	if err := json.Unmarshal(signed.Payload, &head); err != nil {
		return brokenLedgerError{fmt.Errorf("the newest head is not readable: %w", err)}
	}
	v.known = append(v.known, knownEntry{n: head.N, hash: head.Hash, when: "when the hub signed it"})
	return nil
}

// checkPages verifies the hash chain page by page.
func (v *ledgerVerifier) checkPages(ctx context.Context, client *agentclient.Client) error {
	for {
		page, err := client.Ledger(ctx, v.N)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, entry := range page {
			if err := v.checkEntry(entry); err != nil {
				return err
			}
		}
	}
}

// checkKnown returns an error if the log ended before a known entry.
func (v *ledgerVerifier) checkKnown() error {
	for _, k := range v.known {
		if k.n > v.N {
			return brokenLedgerError{fmt.Errorf("the audit log went back: it ends with entry %d, and entry %d was %s %s", v.N, k.n, shortHash(k.hash), k.when)}
		}
	}
	return nil
}

func shortHash(hash string) string { return hash[:min(len(hash), 8)] }

func (v *ledgerVerifier) checkEntry(line []byte) error {
	if err := v.Next(bytes.TrimSpace(line)); err != nil {
		return brokenLedgerError{err}
	}
	v.headFound = v.headFound || v.Head == v.head
	for _, k := range v.known {
		if k.n == v.N && k.hash != v.Head {
			return brokenLedgerError{fmt.Errorf("the audit log was changed: entry %d is %s, and was %s %s", v.N, shortHash(v.Head), shortHash(k.hash), k.when)}
		}
	}
	return nil
}
