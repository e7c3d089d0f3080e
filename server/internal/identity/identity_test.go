package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// newTestKey creates a committed key in a new file.
func newTestKey(t *testing.T) (*Key, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hub.db.key")
	key, err := Open(file, nil)
	require.NoError(t, err)
	require.NoError(t, Commit(file))
	return key, file
}

func TestOpen_KeepsTheKey(t *testing.T) {
	t.Parallel()
	key, file := newTestKey(t)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	again, err := Open(file, key.Public())
	require.NoError(t, err)
	require.Equal(t, key.Public(), again.Public())
	require.Equal(t, key.Subkey("a"), again.Subkey("a"))
	require.NotEqual(t, key.Subkey("a"), key.Subkey("b"))
	require.Len(t, key.Subkey("a"), 32)

	adopted, err := Open(file, nil)
	require.NoError(t, err)
	require.Equal(t, key.Public(), adopted.Public(), "a new database beside an existing key uses that key")

	e := key.Sign(schema.HelloPayload, []byte("{}"))
	require.NoError(t, e.Verify(schema.HelloPayload, key.Public()))
}

func TestOpen_RefusesOtherKeys(t *testing.T) {
	t.Parallel()
	key, file := newTestKey(t)
	other, otherFile := newTestKey(t)
	_, err := Open(otherFile, key.Public())
	require.ErrorIs(t, err, ErrMismatch)
	_, err = Open(filepath.Join(t.TempDir(), "none"), key.Public())
	require.ErrorIs(t, err, ErrMissing)
	require.NotEqual(t, other.ID(), key.ID())
	require.NoError(t, os.Remove(file))
	require.NoError(t, os.Mkdir(file, 0o700))
	_, err = Open(file, key.Public())
	require.ErrorContains(t, err, "not a regular file")
}

func TestOpen_RefusesExposedFile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	key, file := newTestKey(t)
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
		require.NoError(t, os.Chmod(file, mode))
		_, err := Open(file, key.Public())
		require.ErrorContains(t, err, "chmod 600 "+file)
		_, err = Open(file, nil)
		require.ErrorContains(t, err, "chmod 600 "+file, "also for a database without a key")
	}
}

func TestOpen_RefusesOtherFormats(t *testing.T) {
	t.Parallel()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(ec)
	require.NoError(t, err)
	_, valid := newTestKey(t)
	text, err := os.ReadFile(valid)
	require.NoError(t, err)
	for name, content := range map[string][]byte{
		"empty": nil, "cut": text[:len(text)/2], "twice": append(text, text...),
		"other kind": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	} {
		file := filepath.Join(t.TempDir(), "hub.db.key")
		require.NoError(t, os.WriteFile(file, content, 0o600))
		_, err := Open(file, nil)
		require.ErrorContains(t, err, "restore it from your backup", name)
	}
}

// TestPrepare_SurvivesCrash opens the file after a crash between any two steps of a replacement.
func TestPrepare_SurvivesCrash(t *testing.T) {
	t.Parallel()
	old, file := newTestKey(t)
	_, err := Prepare(file)
	require.NoError(t, err)
	got, err := Open(file, old.Public()) // before the database has the new key
	require.NoError(t, err)
	require.Equal(t, old.Public(), got.Public())
	require.NoFileExists(t, file+newSuffix)

	require.NoError(t, os.WriteFile(file+newSuffix, []byte("cut off"), 0o600))
	next, err := Prepare(file)
	require.NoError(t, err)
	got, err = Open(file, next.Public()) // the database has the new key
	require.NoError(t, err)
	require.Equal(t, next.Public(), got.Public())
	require.NoFileExists(t, file+newSuffix)
	_, err = Open(file, old.Public())
	require.ErrorIs(t, err, ErrMismatch, "the old key is gone")
}

func TestEncrypt_BindsTextToPlaceAndKey(t *testing.T) {
	t.Parallel()
	key, _ := newTestKey(t)
	other, _ := newTestKey(t)
	secret := key.Encrypt("channels.url 1", "https://user:password@chat.example")
	require.NotContains(t, secret, "password")
	text, err := key.Decrypt("channels.url 1", secret)
	require.NoError(t, err)
	require.Equal(t, "https://user:password@chat.example", text)
	require.NotEqual(t, secret, key.Encrypt("channels.url 1", text))
	_, err = key.Decrypt("channels.url 2", secret)
	require.ErrorContains(t, err, "channels.url 2")
	_, err = other.Decrypt("channels.url 1", secret)
	require.ErrorContains(t, err, other.ID())
	_, err = key.Decrypt("channels.url 1", "https://plain")
	require.Error(t, err)
	require.Empty(t, key.Encrypt("channels.secret 1", ""))
	text, err = key.Decrypt("channels.secret 1", "")
	require.NoError(t, err)
	require.Empty(t, text)
}

func TestCopy_KeepsOtherKeys(t *testing.T) {
	t.Parallel()
	key, from := newTestKey(t)
	to := filepath.Join(t.TempDir(), "postgres.key")
	for range 2 {
		require.NoError(t, Copy(from, to), "again changes nothing")
		copied, err := Open(to, key.Public())
		require.NoError(t, err)
		require.Equal(t, key.Public(), copied.Public())
	}
	_, other := newTestKey(t)
	require.ErrorIs(t, Copy(from, other), ErrMismatch)
	require.NoError(t, Copy(other, other))
	require.Error(t, Copy(filepath.Join(t.TempDir(), "none"), to))
}
