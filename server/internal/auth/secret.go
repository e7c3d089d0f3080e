package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"strings"
)

// How tokens begin: a person's, and an agent's. Scanners for leaked secrets know a
// token by its beginning and its checksum.
const (
	OperatorPrefix = "hubop_"
	AgentPrefix    = "hubin_"
)

const (
	secretBytes    = 32
	secretChars    = 43 // of 32 bytes in base 62
	checksumChars  = 6  // of 4 bytes in base 62
	tokenHintChars = 4  // of a token after its prefix, to tell it apart
)

// newSecret is n random bytes in base 62, so long that nobody guesses one.
func newSecret(n, chars int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: the runtime ends the program instead
	return base62(b, chars)
}

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

// isToken reports whether text has the form of a token: a truncated one is found out
// without looking it up.
func isToken(text string) bool {
	body, sum := text[:max(len(text)-checksumChars, 0)], text[max(len(text)-checksumChars, 0):]
	known := strings.HasPrefix(text, OperatorPrefix) || strings.HasPrefix(text, AgentPrefix)
	return known && len(body) == len(OperatorPrefix)+secretChars && checksum(body) == sum
}

// digest is what is kept of a secret. It has 128 random bits at least, so that a
// slow hash would add nothing.
type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }
