package control

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"
)

// Accepts are the parts of a directive that a hook can apply.
//
// Later goes with Grant: the grant is that of a call without which the agent has continued, and a request about it that
// waits counts, too.
type Accepts struct{ Grant, Message, Freeze, Later bool }

// parts pairs the name of each part with its field.
func (a *Accepts) parts() []struct {
	name  string
	field *bool
} {
	return []struct {
		name  string
		field *bool
	}{{AcceptGrant, &a.Grant}, {AcceptMessage, &a.Message}, {AcceptFreeze, &a.Freeze}, {AcceptLater, &a.Later}}
}

// ParseAccepts returns the parts that a header names. Unknown parts are ignored.
func ParseAccepts(header string) (a Accepts) {
	for name := range strings.SplitSeq(header, ",") {
		for _, p := range a.parts() {
			if strings.TrimSpace(name) == p.name {
				*p.field = true
			}
		}
	}
	return a
}

// String returns the value of the header, empty if there is no part.
func (a Accepts) String() string {
	var names []string
	for _, p := range a.parts() {
		if *p.field {
			names = append(names, p.name)
		}
	}
	return strings.Join(names, ", ")
}

// LaterDigest identifies a call without which its agent continues: the digest of the call, and where and by whom it
// runs, because the agent does other work before it runs the call. It is empty if digest is.
func LaterDigest(digest, cwd, agentID string) string {
	if digest == "" {
		return ""
	}
	return strings.Join([]string{digest, cwd, agentID}, "\x00")
}

// digestPrefix names the hash of a digest.
const digestPrefix = "sha256:"

// Digest identifies a tool call: SHA-256 over the tool's name, a NUL, and the arguments with
// sorted members and numbers as written. It is empty if the arguments are not one JSON value.
func Digest(tool string, arguments json.RawMessage) string {
	var value any
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	if d.Decode(&value) != nil || tool == "" {
		return ""
	}
	if _, err := d.Token(); err != io.EOF {
		return ""
	}
	canonical, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(append([]byte(tool+"\x00"), canonical...))
	return digestPrefix + hex.EncodeToString(sum[:])
}
