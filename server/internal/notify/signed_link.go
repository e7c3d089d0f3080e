package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

// A signed link lets the one person a mail was sent to answer without signing in. Its
// token stands in the address's fragment, which no browser sends to a server and no
// scanner of mail follows; looking at it decides nothing. It is good for one answer to
// what was asked then: an edit, the end of the request, and its use end it.

// maxLinkLifetime is how long a link to a request without a deadline is good.
const maxLinkLifetime = 7 * 24 * time.Hour

// linkClaims is what a token says; its signature is over this and the question.
type linkClaims struct {
	Person   string `json:"p"`
	Revision int64  `json:"r"` // the revision of the status with what is asked; 0: as it was asked
	Expires  int64  `json:"e"` // Unix seconds
	KeyID    string `json:"k"` // which key signed it
}

func (n *Notifier) linkKey() (key []byte, id string) {
	mac := hmac.New(sha256.New, n.Store.Key())
	mac.Write([]byte("signed links, 1"))
	key = mac.Sum(nil)
	sum := sha256.Sum256(key)
	return key, hex.EncodeToString(sum[:4])
}

func (n *Notifier) signLink(uid, payload string) []byte {
	key, _ := n.linkKey()
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(uid + "\n" + payload))
	return mac.Sum(nil)
}

// contentRevision is the revision that what is asked now came with.
func (q *question) contentRevision() int64 {
	if q.status.Edited == nil {
		return 0
	}
	return q.status.Edited.Revision
}

// predates reports whether the question was there, and put to whom it is put to, before
// somebody was known to the hub: then it went to another of their name.
func (q *question) predates(since time.Time) bool {
	return since.UnixMilli() > max(q.Event.ReceivedAt.UnixMilli(), int64(q.status.EscalatedAt))
}

// signedLink makes a signed link for a person who may answer; empty for anybody else.
func (n *Notifier) signedLink(q *question, person string) (address string, ends time.Time, err error) {
	identity, known := n.IdentityOf(person)
	if !known || !identity.Is(schema.Operator) {
		return "", ends, nil
	}
	ends = n.Clock().Add(maxLinkLifetime)
	if !q.Deadline.IsZero() && q.Deadline.Before(ends) {
		ends = q.Deadline
	}
	ends = ends.Truncate(time.Second)
	_, key := n.linkKey()
	payload, err := json.Marshal(linkClaims{person, q.contentRevision(), ends.Unix(), key})
	if err != nil {
		return "", ends, err
	}
	text := base64.RawURLEncoding.EncodeToString(payload)
	token := text + "." + base64.RawURLEncoding.EncodeToString(n.signLink(q.UID, text))
	return n.Base + schema.At(schema.PathLinkVote, q.ID) + "#" + token, ends, nil
}

// OpenedLink is a signed link that holds.
type OpenedLink struct {
	Identity auth.Identity
	Expires  time.Time
	Event    []byte // as it is now, JSON
	// Revision of the status with what the link was sent for, 0: as it was asked. What
	// has changed since, such as who else asks the same, its person has not seen by it.
	Revision int64
	mac      []byte
}

// linkError is what a link that does not hold is told: why, and what to do.
func linkError(why string) error {
	return &schema.HintError{
		Err:  &schema.FieldError{Field: "token", Detail: why, Cause: schema.ErrNotAllowed},
		Hint: "Open the request in the dashboard and sign in to answer it.",
	}
}

// Open looks at a signed link of a question. It changes nothing.
func (n *Notifier) Open(ctx context.Context, id schema.EventID, token string) (*OpenedLink, error) {
	q, err := n.readQuestion(ctx, id)
	if err != nil {
		return nil, err
	}
	text, signature, _ := strings.Cut(token, ".")
	mac, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	var claims linkClaims
	if err == nil {
		var payload []byte
		if payload, err = base64.RawURLEncoding.Strict().DecodeString(text); err == nil {
			err = json.Unmarshal(payload, &claims)
		}
	}
	if _, key := n.linkKey(); err == nil && claims.KeyID != key {
		return nil, linkError("was made by another hub, or before its database was replaced")
	}
	if err != nil || !hmac.Equal(mac, n.signLink(q.UID, text)) {
		return nil, linkError("is not this request's, or is not whole: take the link from the mail again, as it is")
	}
	link := &OpenedLink{Expires: time.Unix(claims.Expires, 0), Revision: claims.Revision, mac: mac, Event: q.Event.AppendJSON(nil, schema.MaxListed)}
	used, err := n.Store.IsLinkUsed(ctx, id, mac)
	if err != nil {
		return nil, err
	}
	var known bool
	link.Identity, known = n.IdentityOf(claims.Person)
	switch {
	case !known || !link.Identity.Is(schema.Operator) || q.predates(n.CreatedAt(claims.Person)):
		return nil, linkError("was sent to somebody who may not answer any more")
	case used:
		return nil, linkError("has been used: it works once, and that answer is stored")
	case q.status.Status == schema.Responded:
		return nil, &schema.StatusError{Err: schema.ErrDecided, Status: q.status}
	case q.status.Settled():
		return nil, &schema.StatusError{Err: schema.ErrExpired, Status: q.status}
	case !n.Clock().Before(link.Expires):
		return nil, linkError("has expired")
	case claims.Revision != q.contentRevision():
		return nil, &schema.HintError{
			Err:  &schema.StatusError{Err: schema.ErrStale, Status: q.status},
			Hint: "What is asked was changed after this link was sent. Open the request in the dashboard and sign in to answer it as it is now.",
		}
	}
	return link, nil
}

// Vote lets a signed link be used: vote is called at most once at a time, and the link
// is spent when it succeeds, not before.
func (n *Notifier) Vote(ctx context.Context, id schema.EventID, token string, vote func(*OpenedLink) error) error {
	n.linkMu.Lock()
	defer n.linkMu.Unlock()
	link, err := n.Open(ctx, id, token)
	if err != nil {
		return err
	}
	if err := vote(link); err != nil {
		return err
	}
	return n.Store.UseLink(context.WithoutCancel(ctx), id, link.mac)
}
