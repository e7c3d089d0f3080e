package trust

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/plaintext"
	"github.com/hookback/hookback/agentclient/receipt"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

const receiptHelp = `hookback receipt get ID [flags]
hookback receipt verify FILE [flags]

A receipt proves who approved which question about which call and commit. It is signed by
the hub and can be verified without it, for example in a CI job.

get prints the receipt of a settled question as JSON. ask --receipt FILE writes the
receipt of that question.

verify checks the signature, that the outcome is an approval, that a person whose name the
hub verified gave it, other than the one who asked, and every condition that its flags add.
It prints the question and the commit that people saw. Name both, and the agent: the
program that asks chooses them, and one commit can be the subject of any question. A receipt
of an older hub records no question, so it holds for no --question and no --commit.

FILE - is stdin. verify never connects to a hub. Exit status: 0 the receipt holds, 1 it does
not, 2 it is not readable or the usage is wrong.
`

// receiptFlags holds the flags of receipt.
type receiptFlags struct {
	*cli.Flags
	need       receipt.Requirements
	keyFile    string
	call       string
	people     []string
	personKeys []string
}

func newReceiptFlags(env func(string) string) *receiptFlags {
	r := &receiptFlags{Flags: cli.NewBareFlags("receipt", receiptHelp)}
	r.AddHubFlags(env)
	r.StringVar(&r.keyFile, "key", "", "verify: a `file` with the hub's public keys: lines of known_hubs, base64, or PEM (default: the hubs that you trust)")
	r.StringVar(&r.need.App, "app", "", "verify: the agent that asked, its `name`")
	r.StringVar(&r.need.Question, "question", "", "verify: the exact `text` of the question")
	r.BoolVar(&r.need.AllowRule, "allow-rule", false, "verify: a rule may have approved, and no person")
	r.BoolVar(&r.need.AllowUnverified, "allow-unverified", false, "verify: the person's name need not be verified, except by --need")
	r.BoolVar(&r.need.AllowSelf, "allow-self", false, "verify: the person may be the one who asked")
	r.ListVar(&r.people, "need", "verify: this person must have approved; a `name`; repeat the flag for each")
	r.BoolVar(&r.need.Passkey, "passkey", false, "verify: they must have confirmed with a passkey")
	r.ListVar(&r.personKeys, "person-key", "verify: the passkey that a person must have used, `NAME=FILE` with a public key in PEM")
	r.StringVar(&r.call, "call", "", "verify: the exact call, `TOOL=FILE` with its arguments as JSON")
	r.StringVar(&r.need.Commit, "commit", "", "verify: the Git `commit` that the request named and people saw")
	r.DurationVar(&r.need.MaxAge, "max-age", 0, "verify: the longest time since the decision, a `duration` such as 24h")
	return r
}

// RunReceipt runs hookback receipt.
func RunReceipt(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	r := newReceiptFlags(env)
	if status, done := r.ParseArgs(args, std); done {
		return status
	}
	if len(r.Positional) == 2 {
		switch r.Positional[0] {
		case "get":
			return r.get(ctx, std)
		case "verify":
			return r.verify(std)
		}
	}
	return std.PrintError("use receipt get ID or receipt verify FILE; see hookback receipt --help")
}

// get prints the receipt of a question.
func (r *receiptFlags) get(ctx context.Context, std cli.Streams) int {
	id, err := strconv.ParseInt(r.Positional[1], 10, 64)
	if err != nil || id <= 0 {
		return std.PrintError("%q is not the number of a request", r.Positional[1])
	}
	client := agentclient.New(r.Options())
	defer client.Close()
	found, err := client.Receipt(ctx, schema.EventID(id))
	if err == nil {
		err = cli.WriteJSON(std.Out, found)
	}
	if err != nil {
		return std.PrintError("%s", cli.ErrorWithHint(err))
	}
	return cli.ExitOK
}

// verify checks the receipt in a file and prints the result.
func (r *receiptFlags) verify(std cli.Streams) int {
	text, err := readFileOrStdin(r.Positional[1], std)
	var stored sign.Receipt
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	if err == nil {
		err = r.readRequirements()
	}
	if err != nil {
		return std.PrintError("%v; nothing was verified", err)
	}
	result, err := receipt.Verify(&stored, r.need)
	switch {
	case errors.Is(err, receipt.ErrUnmet):
		fmt.Fprintln(std.Out, err)
		return cli.ExitProblem
	case err != nil:
		return std.PrintError("%v; nothing was verified", err)
	}
	printReceipt(std.Out, &result)
	return cli.ExitOK
}

// maxReceipt is larger than any receipt of a hub, in bytes.
const maxReceipt = 16 << 20

func readFileOrStdin(name string, std cli.Streams) ([]byte, error) {
	file, err := std.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxReceipt+1))
	if err == nil && len(text) > maxReceipt {
		err = errors.New("the file is too large for a receipt")
	}
	return plaintext.Decode(text), err
}

// readRequirements reads the files that the flags name.
func (r *receiptFlags) readRequirements() (err error) {
	r.need.Approvers = r.people
	for name, value := range map[string]string{"app": r.need.App, "question": r.need.Question, "commit": r.need.Commit, "call": r.call} {
		if value == "" && r.IsSet(name) { // such as an unset variable of a CI job
			return fmt.Errorf("--%s must not be empty", name)
		}
	}
	if r.need.MaxAge < 0 {
		return errors.New("--max-age must not be negative")
	}
	if r.need.Keys, err = r.trustedKeys(); err != nil {
		return err
	}
	if r.call != "" {
		tool, file, ok := strings.Cut(r.call, "=")
		if !ok || tool == "" {
			return errors.New("--call must be TOOL=FILE")
		}
		arguments, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read --call: %w", err)
		}
		r.need.Call = &receipt.Call{Tool: tool, Arguments: plaintext.Decode(arguments)}
	}
	for _, pair := range r.personKeys {
		name, file, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return errors.New("--person-key must be NAME=FILE")
		}
		key, err := readPublicKey(file)
		if err != nil {
			return fmt.Errorf("read --person-key: %w", err)
		}
		if r.need.PersonKeys == nil {
			r.need.PersonKeys = map[string][]byte{}
		}
		r.need.PersonKeys[name] = key
	}
	return nil
}

// readPublicKey returns the PKIX form of a public key in PEM.
func readPublicKey(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(plaintext.Decode(text))
	if block == nil || block.Type != "PUBLIC KEY" {
		return nil, fmt.Errorf("%s: contains no PUBLIC KEY in PEM", file)
	}
	if _, err := x509.ParsePKIXPublicKey(block.Bytes); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return block.Bytes, nil
}

// trustedKeys returns the hub keys of --key, or the user's pins.
func (r *receiptFlags) trustedKeys() ([]ed25519.PublicKey, error) {
	if r.keyFile == "" {
		return r.pinnedKeys()
	}
	text, err := os.ReadFile(r.keyFile)
	if err != nil {
		return nil, fmt.Errorf("read --key: %w", err)
	}
	return parseHubKeys(string(plaintext.Decode(text)), r.keyFile)
}

// pinnedKeys returns the keys of the hubs that this account trusts.
func (r *receiptFlags) pinnedKeys() (keys []ed25519.PublicKey, err error) {
	trust, err := agentclient.LoadTrust(r.Options())
	if err != nil {
		return nil, err
	}
	for _, pin := range trust.Pins() {
		keys = append(keys, pin.Key)
	}
	if len(keys) == 0 {
		return nil, errors.New("this account trusts no hub; name the hub's public key with --key")
	}
	return keys, nil
}

// parseHubKeys reads public keys: PEM, or one per line as base64, last of its words.
func parseHubKeys(text, file string) (keys []ed25519.PublicKey, err error) {
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
		key, ok := parsed.(ed25519.PublicKey)
		if err != nil || !ok {
			return nil, fmt.Errorf("%s: contains a key that is not an Ed25519 public key", file)
		}
		keys = append(keys, key)
	}
	if len(keys) > 0 {
		return keys, nil
	}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		key, err := sign.ParsePublicKey(words[len(words)-1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s: contains no key", file)
	}
	return keys, nil
}

func printReceipt(w io.Writer, r *receipt.Result) {
	d := &r.Decision
	what := d.App
	if d.Tool != "" {
		what += ", " + d.Tool
	}
	at := time.UnixMilli(int64(d.RespondedAt)).UTC().Format("2006-01-02 15:04:05 MST")
	fmt.Fprintf(w, "holds: request %d (%s) was approved at %s\n", d.EventID, quoteTerminal(what), at)
	printQuestion(w, r)
	byWord := false
	for _, a := range r.Approvers {
		proof := "name not verified"
		switch {
		case a.Bound:
			proof = "with the given passkey"
		case a.Passkey:
			proof, byWord = "with a passkey", true
		case a.Verified:
			proof = "signed in"
		}
		fmt.Fprintf(w, "by: %s, %s\n", quoteTerminal(a.Name), proof)
	}
	if d.Rule != nil {
		fmt.Fprintf(w, "by: rule %d, no person\n", d.Rule.ID)
	}
	fmt.Fprintf(w, "hub: key %s\n", r.KeyID)
	if r.Entry != nil {
		fmt.Fprintf(w, "audit log: entry %d, %s\n", r.Entry.N, r.Entry.Hash)
	}
	if byWord {
		fmt.Fprintln(w, "That a passkey belongs to its person is the hub's word; --person-key checks it.")
	}
}

// printQuestion prints the question and the asker.
func printQuestion(w io.Writer, r *receipt.Result) {
	commit := cmp.Or(r.Commit, "none")
	if r.Question == "" {
		fmt.Fprintf(w, "question: not recorded, its hub is an older one\ncommit: %s, not shown by that hub\nasked by: not recorded\n", commit)
		return
	}
	requester := cmp.Or(r.Decision.Requester, "a program without a token")
	fmt.Fprintf(w, "question: %s\ncommit: %s\nasked by: %s\n", quoteTerminal(r.Question), commit, quoteTerminal(requester))
	if r.Consequence != nil {
		for _, sentence := range r.Consequence.Sentences {
			fmt.Fprintf(w, "shown as its effect: %s\n", quoteTerminal(sentence))
		}
	}
}

// quoteTerminal quotes text from agents that a terminal could interpret.
func quoteTerminal(text string) string {
	if quoted := strconv.QuoteToGraphic(text); quoted != `"`+text+`"` {
		return quoted
	}
	return text
}
