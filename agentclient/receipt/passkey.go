package receipt

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	_ "crypto/sha512" // SHA-384 and SHA-512 of passkeys on larger curves
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// The flags of authenticator data. See https://www.w3.org/TR/webauthn-3/#sctn-authenticator-data.
const (
	userPresent  = 1 << 0
	userVerified = 1 << 2
	flagsOffset  = sha256.Size
	minAuthData  = sha256.Size + 1 + 4
)

// checkProofs verifies every assertion in the receipt and marks the people who made one. An invalid
// assertion is an error, even if none is required.
func (r *Result) checkProofs(proofs []sign.PasskeyProof, personKeys map[string][]byte) error {
	for i := range proofs {
		p := &proofs[i]
		a := r.find(p.Person)
		if a == nil {
			continue // of a vote for another choice
		}
		if err := checkProof(p, &r.Decision); err != nil {
			return unmet("the passkey assertion of %s is not valid: %v", p.Person, err)
		}
		a.Passkey = true
		key, known := personKeys[p.Person]
		if !known {
			continue
		}
		if used, err := base64.StdEncoding.DecodeString(p.PublicKey); err != nil || !bytes.Equal(used, key) {
			return unmet("%s used another passkey than the given one", p.Person)
		}
		a.Bound = true
	}
	for name := range personKeys {
		if a := r.find(name); a == nil || !a.Bound {
			return unmet("%s did not approve with the given passkey", name)
		}
	}
	return nil
}

// checkProof verifies one WebAuthn assertion: that it approves this question, and its signature.
func checkProof(p *sign.PasskeyProof, d *sign.SignedDecision) error {
	if err := checkSignedAnswer(p.Signed, d); err != nil {
		return err
	}
	var raw [4][]byte
	for i, text := range []string{p.AuthenticatorData, p.ClientDataJSON, p.Signature, p.Nonce} {
		b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
		if err != nil {
			return errors.New("it is not base64url")
		}
		raw[i] = b
	}
	authData, clientData, signature, nonce := raw[0], raw[1], raw[2], raw[3]
	challenge := sign.PasskeyChallenge(sha256.Sum256([]byte(p.Signed)), nonce, p.Person)
	if err := checkClientData(clientData, authData, challenge); err != nil {
		return err
	}
	key, err := base64.StdEncoding.DecodeString(p.PublicKey)
	if err != nil {
		return errors.New("its public key is not base64")
	}
	sum := sha256.Sum256(clientData)
	return checkSignature(key, append(bytes.Clone(authData), sum[:]...), signature)
}

// checkSignedAnswer checks that the signed text is an approval of the question that d is about.
func checkSignedAnswer(signed string, d *sign.SignedDecision) error {
	var parts []json.RawMessage
	var hub, event, argumentsHash string
	var edited int64
	var answer schema.Response
	if err := json.Unmarshal([]byte(signed), &parts); err != nil || len(parts) != 5 ||
		json.Unmarshal(parts[0], &hub) != nil || json.Unmarshal(parts[1], &event) != nil || json.Unmarshal(parts[2], &edited) != nil ||
		json.Unmarshal(parts[3], &argumentsHash) != nil || json.Unmarshal(parts[4], &answer) != nil {
		return errors.New("the signed text is not an answer")
	}
	if hub != d.Hub || event != d.Event {
		return errors.New("it is about another question")
	}
	if approves := answer.Permission != nil && *answer.Permission; !approves {
		return errors.New("it does not approve")
	}
	// The call that runs is the edit of the answer itself or of an earlier voter, else the call as
	// asked.
	runs, signedEdit := d.Answer.ModifiedArguments, answer.ModifiedArguments
	sum := sha256.Sum256(runs)
	switch {
	case len(signedEdit) > 0 && sign.CallDigest("", signedEdit) != sign.CallDigest("", runs),
		len(signedEdit) == 0 && edited > 0 && hex.EncodeToString(sum[:]) != argumentsHash,
		len(signedEdit) == 0 && edited == 0 && len(runs) > 0:
		return errors.New("it approves other arguments")
	}
	return nil
}

// checkClientData checks the data that the browser signed: the type, the challenge, and that the origin
// belongs to the relying party; and that the person was present and verified.
func checkClientData(clientData, authData, challenge []byte) error {
	var data struct {
		Type      string `json:"type"`
		Challenge string `json:"challenge"`
		Origin    string `json:"origin"`
	}
	if err := json.Unmarshal(clientData, &data); err != nil {
		return errors.New("its client data is not JSON")
	}
	origin, err := url.Parse(data.Origin)
	switch {
	case data.Type != "webauthn.get":
		return errors.New("it is not an assertion")
	case data.Challenge != base64.RawURLEncoding.EncodeToString(challenge):
		return errors.New("it signs another answer")
	case len(authData) < minAuthData:
		return errors.New("its authenticator data is too short")
	case authData[flagsOffset]&userPresent == 0 || authData[flagsOffset]&userVerified == 0:
		return errors.New("the authenticator did not verify the person")
	case err != nil || !isRelyingParty(authData[:sha256.Size], origin.Hostname()):
		return errors.New("its origin does not belong to its relying party")
	default:
		return nil
	}
}

// isRelyingParty reports whether hash is that of host or of a domain that host is in.
func isRelyingParty(hash []byte, host string) bool {
	for ; host != ""; _, host, _ = strings.Cut(host, ".") {
		if sum := sha256.Sum256([]byte(host)); bytes.Equal(hash, sum[:]) {
			return true
		}
	}
	return false
}

// checkSignature verifies a signature with a PKIX public key and the algorithm that COSE assigns to
// its kind: ES256, ES384, ES512, EdDSA or RS256.
func checkSignature(pkix, message, signature []byte) error {
	parsed, err := x509.ParsePKIXPublicKey(pkix)
	if err != nil {
		return fmt.Errorf("its public key is not valid: %w", err)
	}
	digest := func(h crypto.Hash) []byte {
		sum := h.New()
		sum.Write(message)
		return sum.Sum(nil)
	}
	valid := false
	switch key := parsed.(type) {
	case *ecdsa.PublicKey:
		hash := map[int]crypto.Hash{256: crypto.SHA256, 384: crypto.SHA384, 521: crypto.SHA512}[key.Curve.Params().BitSize]
		valid = hash != 0 && ecdsa.VerifyASN1(key, digest(hash), signature)
	case ed25519.PublicKey:
		valid = ed25519.Verify(key, message, signature)
	case *rsa.PublicKey:
		valid = rsa.VerifyPKCS1v15(key, crypto.SHA256, digest(crypto.SHA256), signature) == nil
	}
	if !valid {
		return errors.New("its signature does not match")
	}
	return nil
}
