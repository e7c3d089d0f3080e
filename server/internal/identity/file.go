package identity

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// A new key is written to FILE.new. When the database has stored its public key, Commit renames
// the file to FILE. Open completes or discards a replacement that a crash interrupted.

// newSuffix is appended to the name of the key file until the database has the public key.
const newSuffix = ".new"

// maxFile limits the size of a key file, in bytes.
const maxFile = 4096

// The reasons why a key file has no key for a database.
var (
	ErrMissing  = errors.New("the hub's key file is missing")
	ErrMismatch = errors.New("the key file belongs to another hub")
	ErrInvalid  = errors.New("the hub's key is not readable")
)

// File returns the name of the key file of a database.
func File(database string) string { return database + ".key" }

// Open returns the key in file whose public key is public. It fails with ErrMissing if there is no
// file, ErrInvalid if it holds no key, and ErrMismatch if it holds another one.
//
// If public is empty, the database has no key yet. Open then returns the key in file, or a new
// one. The caller stores its public key and calls Commit.
func Open(file string, public ed25519.PublicKey) (*Key, error) {
	key, err := read(file)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case len(public) == 0 && missing:
		return Prepare(file)
	case err != nil && !missing:
		return nil, err
	case err == nil && (len(public) == 0 || key.Public().Equal(public)):
		return key, discard(file)
	}
	prepared, err := read(file + newSuffix)
	switch {
	case err == nil && prepared.Public().Equal(public):
		return prepared, Commit(file)
	case missing:
		return nil, ErrMissing
	default:
		return nil, fmt.Errorf("%w: it is %s", ErrMismatch, key.ID())
	}
}

// Prepare creates a key that replaces the one in file at the next Commit.
func Prepare(file string) (*Key, error) {
	if err := discard(file); err != nil {
		return nil, err
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	if err := write(file+newSuffix, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})); err != nil {
		return nil, fmt.Errorf("create the hub's key: %w", err)
	}
	return newKey(private)
}

// Commit puts the prepared key in the place of the old one. Without a prepared key it does
// nothing.
func Commit(file string) error {
	err := os.Rename(file+newSuffix, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store the hub's key: %w", err)
	}
	return syncDir(filepath.Dir(file))
}

// Copy copies a key file for a hub that moves. It does nothing if the file to has the same key, and
// fails with ErrMismatch if it has another one.
func Copy(from, to string) error {
	key, err := read(from)
	if err != nil {
		return err
	}
	switch has, err := Check(to, key.Public()); {
	case err != nil || has:
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := discard(to); err != nil {
		return err
	}
	if err := write(to+newSuffix, text); err != nil {
		return fmt.Errorf("copy the hub's key: %w", err)
	}
	return Commit(to)
}

// discard removes a prepared key that was not committed.
func discard(file string) error {
	if err := os.Remove(file + newSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove an unused key: %w", err)
	}
	return nil
}

func write(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return syncDir(filepath.Dir(file))
}

// syncDir makes a new name in a directory durable. Windows cannot sync a directory.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// read loads a key file. It refuses a file that other users can access.
func read(file string) (*Key, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", file)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("other users can access the hub's key %s (mode %04o). Run: chmod 600 %s. If someone may have copied it, run \"hookback-server key new\" afterwards", file, info.Mode().Perm(), file)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, err
	}
	private, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w; restore it from your backup, or run \"hookback-server key new\"", ErrInvalid, file, err)
	}
	return newKey(private)
}

// parse decodes a PKCS#8 PEM file with one Ed25519 key.
func parse(text []byte) (ed25519.PrivateKey, error) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("it must be one private key in PKCS#8 PEM format")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("it must be an Ed25519 key")
	}
	return private, nil
}

// Check reports whether file has the private key of public. It changes nothing. It returns false
// without an error if there is no key file, and fails with ErrMismatch if file has another key.
func Check(file string, public ed25519.PublicKey) (has bool, err error) {
	for _, name := range []string{file, file + newSuffix} {
		key, errRead := read(name)
		switch {
		case errors.Is(errRead, fs.ErrNotExist):
			continue
		case errRead != nil:
			err = errRead
		case key.Public().Equal(public):
			return true, nil
		default:
			err = ErrMismatch
		}
	}
	return false, err
}
