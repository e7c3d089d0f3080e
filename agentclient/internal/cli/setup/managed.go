package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/install"
	"github.com/hookback/hookback/agentclient/internal/account"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/plaintext"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema/sign"
)

// installManaged writes the settings, the pin and the policy of every account of a machine below i.managed.
func (i *installFlags) installManaged(ctx context.Context, m install.Machine, env func(string) string, std cli.Streams) (status int) {
	if i.scope != string(install.User) || i.wake {
		return std.PrintError("--managed goes with neither --scope nor --wake")
	}
	var err error
	i.home = m.Home
	if m.Root, err = filepath.Abs(i.managed); err != nil {
		return std.PrintError("%v", err)
	}
	// The files belong to a machine and not to this account, so its list of installations does not have them.
	if m.State, err = os.MkdirTemp("", "hookback-managed-"); err != nil {
		return std.PrintError("%v", err)
	}
	defer func() { _ = os.RemoveAll(m.State) }()
	supported := slices.DeleteFunc(install.AgentNames(), func(name string) bool { return !install.SupportsScope(name, install.Managed) })
	if len(i.agents) == 0 {
		i.agents = supported
	}
	o, err := i.options(m, env)
	if err != nil {
		return std.PrintError("%v", err)
	}
	o.Scope = install.Managed
	pin, err := i.identify(ctx, o.Hub)
	if err != nil {
		return std.PrintError("no hub is pinned, and nothing was written: %v", err)
	}
	p, err := install.Install(m, o)
	if err != nil {
		return std.PrintError("%v", err)
	}
	dir := filepath.Join(m.Root, strings.TrimPrefix(account.SystemDir, filepath.VolumeName(account.SystemDir)))
	p.AddFile(filepath.Join(dir, "hub.pub"), fmt.Sprintf("%s ed25519 %s\n", pin.Origin, sign.FormatPublicKey(pin.Key)))
	text, err := plaintext.ReadPolicy(cli.UserPolicySource(env, "").UserFile)
	switch {
	case err == nil:
		p.AddFile(filepath.Join(dir, policy.FileName), string(text))
	case errors.Is(err, fs.ErrNotExist):
		fmt.Fprintln(std.Err, "  You have no hookback.json, so no policy was written; hookback policy init writes one.")
	default:
		return std.PrintError("the policy: %v", err)
	}
	status = i.apply(p, std)
	fmt.Fprintf(std.Err, "  Every account trusts hub %s; compare the key id with the one that the hub prints.\n", pin)
	fmt.Fprintf(std.Err, "  Agents without managed settings: %s.\n", strings.Join(slices.DeleteFunc(install.AgentNames(), func(name string) bool {
		return slices.Contains(supported, name)
	}), ", "))
	return status
}

// identify returns the key that a hub proves to hold. A hub of another key than this account trusts is refused.
func (i *installFlags) identify(ctx context.Context, hub string) (pin agentclient.Pin, err error) {
	options := i.Options()
	options.Hubs = []string{hub}
	client := agentclient.New(options)
	defer client.Close()
	trust, err := client.Trust()
	if err != nil {
		return pin, err
	}
	if pin, err = client.Identify(ctx, hub); err != nil {
		return pin, err
	}
	known := trust.Pins()
	if len(known) > 0 && !slices.ContainsFunc(known, func(p agentclient.Pin) bool { return p.Key.Equal(pin.Key) }) {
		return pin, fmt.Errorf("the hub at %s has the key %s, and this account trusts %s; hookback trust %s changes that", hub, pin.KeyID(), describePins(known), hub)
	}
	return pin, nil
}
