// Package release_test tests the files of a release: the install script, the packages and the
// systemd unit.
package release_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// installation is one run of install.sh with its own home directory, PATH and release.
type installation struct {
	t       *testing.T
	home    string
	tools   string            // the only directory in PATH
	files   map[string][]byte // files of the server, by name
	cut     string            // name of a file whose download breaks off
	archive string            // name of the archive for this machine
	env     []string
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("install.sh is for Linux and macOS")
	}
	in := &installation{t: t, home: t.TempDir(), tools: t.TempDir(), archive: "hookback_1.2.3_linux_amd64.tar.gz"}
	for _, name := range []string{"sh", "mktemp", "rm", "grep", "wc", "cut", "tar", "gzip", "mkdir", "cp", "chmod", "mv", "sha256sum", "curl", "sleep", "head", "tr"} {
		path, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(in.tools, name)))
	}
	in.tool("uname", `[ "$1" = -m ] && echo x86_64 || echo Linux`)
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	content := tar.NewWriter(compressed)
	for name, text := range map[string]string{
		"LICENSE": "license", "hookback": "#!/bin/sh\necho hookback v1.2.3 go1.26\n", "hookback-server": "#!/bin/sh\necho v1.2.3\n",
	} {
		require.NoError(t, content.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}))
		_, err := io.WriteString(content, text)
		require.NoError(t, err)
	}
	require.NoError(t, content.Close())
	require.NoError(t, compressed.Close())
	in.files = map[string][]byte{in.archive: archive.Bytes()}
	in.files["checksums.txt"] = fmt.Appendf(nil, "%s  hookback_1.2.3_darwin_arm64.tar.gz\n%x  %s\n%[1]s  %[3]s.spdx.json\n",
		strings.Repeat("0", 64), sha256.Sum256(archive.Bytes()), in.archive)
	return in
}

// tool puts a shell script into PATH.
func (in *installation) tool(name, script string) {
	in.t.Helper()
	path := filepath.Join(in.tools, name)
	_ = os.Remove(path)
	require.NoError(in.t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700)) //nolint:gosec // a program
}

// serve serves the files of the release.
func (in *installation) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	file, ok := in.files[name]
	switch {
	case !ok:
		http.NotFound(w, r)
	case name == in.cut:
		w.Header().Set("Content-Length", fmt.Sprint(len(file)))
		_, _ = w.Write(file[:len(file)/2])
	default:
		_, _ = w.Write(file)
	}
}

// useWget leaves wget as the only tool for downloads. It returns false if there is none.
func (in *installation) useWget() bool {
	in.t.Helper()
	wget, err := exec.LookPath("wget")
	if err != nil {
		return false
	}
	require.NoError(in.t, os.Remove(filepath.Join(in.tools, "curl")))
	require.NoError(in.t, os.Symlink(wget, filepath.Join(in.tools, "wget")))
	return true
}

// run returns the exit status and the output of install.sh.
func (in *installation) run() (code int, output string) {
	in.t.Helper()
	server := httptest.NewServer(http.HandlerFunc(in.serve))
	defer server.Close()
	cmd := exec.CommandContext(in.t.Context(), filepath.Join(in.tools, "sh"), "install.sh")
	cmd.Env = append([]string{"HOME=" + in.home, "PATH=" + in.tools, "TMPDIR=" + in.t.TempDir(), "HOOKBACK_DOWNLOAD_URL=" + server.URL + "/"}, in.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		require.ErrorAs(in.t, err, new(*exec.ExitError))
	}
	entries, err := os.ReadDir(strings.TrimPrefix(cmd.Env[2], "TMPDIR="))
	require.NoError(in.t, err)
	require.Empty(in.t, entries, "temporary files remain")
	return cmd.ProcessState.ExitCode(), string(out)
}

func TestInstall_InstallsBothPrograms(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	bin := filepath.Join(in.home, ".local", "bin")
	for range 2 { // the second run is an upgrade
		code, output := in.run()
		require.Zero(t, code, output)
		require.Contains(t, output, "Installed hookback v1.2.3 in "+bin)
		require.Contains(t, output, `export PATH="`+bin+`:$PATH"`)
		require.True(t, strings.HasSuffix(output, "\nRun: hookback up\n"), output)
		entries, err := os.ReadDir(bin)
		require.NoError(t, err)
		require.Len(t, entries, 2)
		for _, entry := range entries {
			info, err := entry.Info()
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o755), info.Mode())
		}
	}
}

func TestInstall_IntoNamedDirectory(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	bin := filepath.Join(in.home, "my programs")
	in.env = []string{"HOOKBACK_BIN=" + bin, "PATH=" + in.tools + ":" + bin}
	code, output := in.run()
	require.Zero(t, code, output)
	require.FileExists(t, filepath.Join(bin, "hookback"))
	require.NotContains(t, output, "PATH")
}

func TestInstall_WithOtherTools(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	sum, err := exec.LookPath("sha256sum")
	require.NoError(t, err)
	in.tool("shasum", `[ "$1 $2" = "-a 256" ] && exec `+sum+` "$3"`)
	require.NoError(t, os.Remove(filepath.Join(in.tools, "sha256sum")))
	in.useWget()
	code, output := in.run()
	require.Zero(t, code, output)
}

// TestInstall_FollowsRedirectsToHTTPSOnly: whoever redirects a download to http could change it, the
// checksums too.
func TestInstall_FollowsRedirectsToHTTPSOnly(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"curl", "wget"} {
		for _, secure := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s to https %v", tool, secure), func(t *testing.T) {
				t.Parallel()
				in := newInstallation(t)
				if tool == "wget" && !in.useWget() {
					t.Skip("no wget here")
				}
				target := httptest.NewUnstartedServer(http.HandlerFunc(in.serve))
				if secure {
					target.StartTLS()
				} else {
					target.Start()
				}
				defer target.Close()
				front := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, target.URL+r.URL.Path, http.StatusFound)
				}))
				defer front.Close()
				roots := filepath.Join(in.home, "roots.pem")
				certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
				require.NoError(t, os.WriteFile(roots, certificate, 0o600))
				require.NoError(t, os.WriteFile(filepath.Join(in.home, ".wgetrc"), []byte("ca_certificate = "+roots+"\n"), 0o600))
				in.env = []string{"HOOKBACK_DOWNLOAD_URL=" + front.URL, "CURL_CA_BUNDLE=" + roots}
				code, output := in.run()
				if secure {
					require.Zero(t, code, output)
					return
				}
				require.Equal(t, 1, code, output)
				require.NoDirExists(t, filepath.Join(in.home, ".local"))
			})
		}
	}
}

// TestInstall_RefusesWgetWithoutRedirectControl: the wget of BusyBox follows redirects to http.
func TestInstall_RefusesWgetWithoutRedirectControl(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	require.NoError(t, os.Remove(filepath.Join(in.tools, "curl")))
	in.tool("wget", `case "$*" in *max-redirect*) echo "wget: unrecognized option" >&2; exit 1 ;; esac; exit 0`)
	code, output := in.run()
	require.Equal(t, 1, code, output)
	require.Contains(t, output, "with the wget of BusyBox, install curl first")
}

func TestInstall_VerifiesSignatureWithCosign(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.files["checksums.txt.sigstore.json"] = []byte("{}")
	in.tool("cosign", `echo "$@" >"$HOME/arguments"`)
	code, output := in.run()
	require.Zero(t, code, output)
	arguments, err := os.ReadFile(filepath.Join(in.home, "arguments"))
	require.NoError(t, err)
	require.Contains(t, string(arguments), "verify-blob --bundle ")
	require.Contains(t, string(arguments), `--certificate-identity-regexp ^https://github.com/hookback/hookback/\.github/workflows/release\.yml@refs/tags/v`)
}

// TestInstall_RefusesBadDownload: each of these exits with 1, gives the reason and installs nothing.
func TestInstall_RefusesBadDownload(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil  func(in *installation)
		reason string
	}{
		"wrong checksum": {func(in *installation) {
			in.files["checksums.txt"] = []byte(strings.Repeat("0", 64) + "  " + in.archive + "\n")
		}, "nothing was installed"},
		"changed archive": {func(in *installation) {
			in.files[in.archive] = append(bytes.Clone(in.files[in.archive]), 0)
		}, "nothing was installed"},
		"no checksum tool": {func(in *installation) {
			require.NoError(in.t, os.Remove(filepath.Join(in.tools, "sha256sum")))
		}, "install sha256sum or shasum first"},
		"no download tool": {func(in *installation) {
			require.NoError(in.t, os.Remove(filepath.Join(in.tools, "curl")))
		}, "install curl or wget first"},
		"unknown processor": {func(in *installation) {
			in.tool("uname", `[ "$1" = -m ] && echo riscv64 || echo Linux`)
		}, "no archive for the processor riscv64"},
		"unknown system": {func(in *installation) {
			in.tool("uname", `[ "$1" = -m ] && echo x86_64 || echo FreeBSD`)
		}, "no archive for FreeBSD"},
		"truncated archive":      {func(in *installation) { in.cut = in.archive }, "cannot download"},
		"truncated checksums":    {func(in *installation) { in.cut = "checksums.txt" }, "cannot download"},
		"missing archive":        {func(in *installation) { delete(in.files, in.archive) }, "cannot download"},
		"archive without a line": {func(in *installation) { in.files["checksums.txt"] = []byte("\n") }, "no archive for linux amd64"},
		"two archives": {func(in *installation) {
			in.files["checksums.txt"] = bytes.Repeat([]byte(strings.Repeat("0", 64)+"  "+in.archive+"\n"), 2)
		}, "more than one archive"},
		"path in checksums": {func(in *installation) {
			in.files["checksums.txt"] = []byte(strings.Repeat("0", 64) + "  hookback_../../x_linux_amd64.tar.gz\n")
		}, "no archive for linux amd64"},
		"archive without a program": {func(in *installation) {
			var empty bytes.Buffer
			compressed := gzip.NewWriter(&empty)
			require.NoError(in.t, tar.NewWriter(compressed).Close())
			require.NoError(in.t, compressed.Close())
			in.files[in.archive] = empty.Bytes()
			in.files["checksums.txt"] = fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(empty.Bytes()), in.archive)
		}, "cannot unpack"},
		"wrong signature": {func(in *installation) {
			in.files["checksums.txt.sigstore.json"] = []byte("{}")
			in.tool("cosign", "exit 1")
		}, "the signature of checksums.txt is wrong"},
		"no signature":        {func(in *installation) { in.tool("cosign", "exit 0") }, "cannot download"},
		"address without TLS": {func(in *installation) { in.env = []string{"HOOKBACK_DOWNLOAD_URL=http://example.com"} }, "must start with https://"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := newInstallation(t)
			c.spoil(in)
			code, output := in.run()
			require.Equal(t, 1, code, output)
			require.Contains(t, output, c.reason)
			require.NotContains(t, output, "hookback up")
			require.NoDirExists(t, filepath.Join(in.home, ".local"))
		})
	}
}
