package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckAllowed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		component component
		problem   string // empty: none
	}{
		"allowed":                    {component{Licenses: []string{"MIT"}, Shipped: true, Text: "MIT License"}, ""},
		"one of two is allowed":      {component{Licenses: []string{"GPL-3.0", "MIT"}}, ""},
		"copyleft":                   {component{Licenses: []string{"AGPL-3.0"}}, `license "AGPL-3.0" is not allowed`},
		"not recognized":             {component{}, `license "" is not allowed`},
		"both alternatives required": {component{Licenses: spdxAlternatives("MIT AND GPL-2.0")}, `license "MIT AND GPL-2.0" is not allowed`},
		"shipped without a text":     {component{Licenses: []string{"MIT"}, Shipped: true}, "no license text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := checkAllowed([]component{c.component})
			if c.problem == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.problem)
		})
	}
}

func TestComponentOf_RecognizesLicenseText(t *testing.T) {
	t.Parallel()
	own, err := componentOf("hookback", "", filepath.Join("..", ".."))
	require.NoError(t, err)
	require.Equal(t, []string{"Apache-2.0"}, own.Licenses)

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "LICENSE"), []byte("All rights reserved. Ask for a license."), 0o600))
	unknown, err := componentOf("unknown", "v1", dir)
	require.NoError(t, err)
	require.Empty(t, unknown.Licenses)
	require.Error(t, checkAllowed([]component{unknown}))
}

func TestNpmPackages_ShipsProductionDependencies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	write("package-lock.json", `{"packages":{
		"":{"name":"dashboard"},
		"node_modules/page":{"version":"1.0.0","license":"(MIT OR GPL-3.0)"},
		"node_modules/page/node_modules/nested":{"version":"2.0.0","license":"ISC"},
		"node_modules/tool":{"version":"3.0.0","license":"GPL-3.0","dev":true}}}`)
	write("node_modules/page/LICENSE", "MIT License\n\nCopyright the page's authors")
	write("node_modules/page/node_modules/nested/README.md", "")

	packages, err := npmPackages(dir)
	require.NoError(t, err)
	require.Equal(t, []component{
		{Name: "nested", Version: "2.0.0", Licenses: []string{"ISC"}, Text: "License: ISC", Shipped: true},
		{Name: "page", Version: "1.0.0", Licenses: []string{"MIT", "GPL-3.0"}, Text: "MIT License\n\nCopyright the page's authors", Shipped: true},
		{Name: "tool", Version: "3.0.0", Licenses: []string{"GPL-3.0"}},
	}, packages)
	require.ErrorContains(t, checkAllowed(packages), `tool 3.0.0: license "GPL-3.0" is not allowed`)
}

func TestNotices_GroupsIdenticalTexts(t *testing.T) {
	t.Parallel()
	text := string(notices([]component{
		{Name: "a", Version: "v1", Licenses: []string{"MIT"}, Text: "shared text", Shipped: true},
		{Name: "b", Version: "v2", Licenses: []string{"MIT"}, Text: "shared text", Shipped: true},
		{Name: "c", Version: "v3", Licenses: []string{"ISC"}, Text: "build tool"},
	}))
	require.Contains(t, text, "a v1 (MIT)\nb v2 (MIT)\n\nshared text\n")
	require.Equal(t, 1, strings.Count(text, "shared text"))
	require.NotContains(t, text, "build tool")
}
