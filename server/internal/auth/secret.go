package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"strings"
)

// Prefixes of tokens of people and of agents. Secret scanners recognize a token by its
// prefix and checksum.
const (
	OperatorPrefix = "hubop_"
	AgentPrefix    = "hubin_"
)

const (
	codeBytes      = 16
	codeChars      = 22
	secretBytes    = 32
	secretChars    = 43 // 32 bytes in base 62
	checksumChars  = 6  // 4 bytes in base 62
	tokenHintChars = 4  // characters after the prefix that are shown to distinguish tokens
)

// newSecret returns n random bytes in base 62, padded to chars characters.
func newSecret(n, chars int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: the runtime aborts the program instead
	return base62(b, chars)
}

// newID returns an id, which is not secret but can't be guessed.
func newID(prefix string) string { return prefix + newSecret(12, 16) }

func base62(b []byte, chars int) string {
	s := new(big.Int).SetBytes(b).Text(62)
	return strings.Repeat("0", max(chars-len(s), 0)) + s
}

func newToken(prefix string) string {
	body := prefix + newSecret(secretBytes, secretChars)
	return body + checksum(body)
}

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	return base62([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}, checksumChars)
}

// isToken reports whether text has the format and checksum of a token. It rejects
// truncated tokens without a lookup.
func isToken(text string) bool {
	body, sum := text[:max(len(text)-checksumChars, 0)], text[max(len(text)-checksumChars, 0):]
	hasPrefix := strings.HasPrefix(text, OperatorPrefix) || strings.HasPrefix(text, AgentPrefix)
	return hasPrefix && len(body) == len(OperatorPrefix)+secretChars && checksum(body) == sum
}

// digest is the stored form of a secret. Secrets have at least 128 random bits, so a slow
// hash would add no protection.
type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }
