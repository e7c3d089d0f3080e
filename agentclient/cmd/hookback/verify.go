package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

const verifyHelp = `hookback verify [FILE] [flags]

Checks the ledger: what people, rules and the hub itself decided, in order. Each
entry holds the hash of the one before, so an entry that was changed, taken out
or put in breaks the chain there; verify names the first such entry and exits 1.

FILE is an export (GET /api/ledger?format=ndjson, or Export in Settings), - is
stdin. Without FILE the hub's own ledger is read.

That its end was cut off nobody sees in what is left. Keep the hash that verify
prints, somewhere else, and give it as --head later.
`

// maxLedgerEntry is more than a hub writes in one line.
const maxLedgerEntry = 8 << 20

// ledgerVerifier is one check of a ledger.
type ledgerVerifier struct {
	schema.LedgerCheck
	head      string // a hash that must be in it; empty: none
	headFound bool   // it was
}

// brokenLedgerError is what is wrong with a ledger, told from not being able to read it.
type brokenLedgerError struct{ error }

func runVerify(ctx context.Context, args []string, env func(string) string, std streams) int {
	f := newBareFlags("verify", verifyHelp)
	f.StringVar(&f.hub, "hub", env("HOOKBACK_URL"), "the hub's `address`, or several with commas (HOOKBACK_URL)")
	head := f.String("head", "", "the `hash` of an entry that must be there, as printed before")
	if status, done := f.parse(args, std); done {
		return status
	}
	v := &ledgerVerifier{head: strings.ToLower(*head)}
	if raw, err := hex.DecodeString(v.head); err != nil || len(f.positional) > 1 || v.head != "" && len(raw) != len(schema.FirstPrev)/2 {
		return std.printError("verify takes one FILE at most, and --head 64 hex digits; see hookback verify --help")
	}
	err := v.check(ctx, f, std.in)
	var broken brokenLedgerError
	switch {
	case errors.As(err, &broken):
		fmt.Fprintf(std.out, "broken: %v\n", broken.error)
		return exitDenied
	case err != nil:
		return std.printError("%s", errorWithHint(err))
	case v.head != "" && !v.headFound:
		fmt.Fprintf(std.out, "broken: entries 1 to %d follow one another, but none has the hash %s: entries were cut off or written anew\n", v.N, v.head)
		return exitDenied
	case v.N == 0:
		fmt.Fprintln(std.out, "the ledger has no entries")
	default:
		fmt.Fprintf(std.out, "whole: entries 1 to %d follow one another, none was changed\nhead: %s\n", v.N, v.Head)
	}
	return exitOK
}

func (v *ledgerVerifier) check(ctx context.Context, f *flags, stdin io.Reader) error {
	switch {
	case len(f.positional) == 0:
		return v.checkHub(ctx, f.options())
	case f.positional[0] == "-":
		return v.checkFile(stdin)
	}
	file, err := os.Open(f.positional[0])
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return v.checkFile(file)
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
		return brokenLedgerError{fmt.Errorf("entry %d is longer than any that a hub writes", v.N+1)}
	}
	return lines.Err()
}

func (v *ledgerVerifier) checkHub(ctx context.Context, o agentclient.Options) error {
	client := agentclient.New(o)
	defer client.Close()
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

func (v *ledgerVerifier) checkEntry(line []byte) error {
	if err := v.Next(bytes.TrimSpace(line)); err != nil {
		return brokenLedgerError{err}
	}
	v.headFound = v.headFound || v.Head == v.head
	return nil
}
