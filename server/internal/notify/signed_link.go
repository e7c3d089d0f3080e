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
	"github.com/hookback/hookback/server/internal/notify/buttons"
)

// A signed link lets the recipient of a mail answer without signing in. The token is in
// the URL fragment, which browsers do not send to servers and mail scanners do not follow.
// Opening the link decides nothing. It is valid for one answer to the question as it was
// sent: an edit, the end of the question or its use invalidates it.

// maxLinkLifetime is the lifetime of a link to a question without a deadline.
const maxLinkLifetime = 7 * 24 * time.Hour

// linkClaims is the payload of a token. The signature covers it and the question's UID.
type linkClaims struct {
	Person   string `json:"p"`
	Revision int64  `json:"r"` // revision of the question's content; 0: as it was created
	Expires  int64  `json:"e"` // Unix seconds
	KeyID    string `json:"k"` // id of the signing key
	// Browser is set in a push message: the link needs a sign-in of the person in the same browser, so
	// that it ends with the sign-in.
	Browser bool `json:"b,omitempty"`
}

func (k *core) linkKey() (key []byte, id string) {
	key = k.Store.Identity().Subkey("signed links")
	sum := sha256.Sum256(key)
	return key, hex.EncodeToString(sum[:4])
}

func (k *core) signLink(uid, payload string) []byte {
	key, _ := k.linkKey()
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(uid + "\n" + payload))
	return mac.Sum(nil)
}

// signedLink returns a signed link for a person and when it expires. It is empty if the
// person may not answer.
func (k *core) signedLink(q *buttons.Question, person string) (address string, ends time.Time, err error) {
	token, ends, err := k.linkToken(q, person, false)
	if err != nil || token == "" {
		return "", ends, err
	}
	address, _ = k.linkTo(schema.At(schema.PathLinkVote, q.ID) + "#" + token)
	return address, ends, nil
}

// maySendLinks reports whether messages to a person may contain a signed link. The server of the channel
// reads links that answer in the person's name, so only the owner chooses it, or an admin for
// their own channel. Another admin could answer for everyone.
func (o *outlet) maySendLinks(person string) bool {
	creator, known := o.creator()
	return o.perPerson && known && (creator.Owner || creator.HasRole(schema.Admin) && creator.Name == person)
}

// linkToken returns the token of a signed link, or "" if the person may not answer.
func (k *core) linkToken(q *buttons.Question, person string, browser bool) (token string, ends time.Time, err error) {
	identity, ok := k.identityOf(person)
	if !ok || !identity.HasRole(schema.Operator) {
		return "", ends, nil
	}
	ends = k.Clock().Add(maxLinkLifetime)
	if !q.Deadline.IsZero() && q.Deadline.Before(ends) {
		ends = q.Deadline
	}
	ends = ends.Truncate(time.Second)
	_, key := k.linkKey()
	payload, err := json.Marshal(linkClaims{Person: person, Revision: q.ContentRevision(), Expires: ends.Unix(), KeyID: key, Browser: browser})
	if err != nil {
		return "", ends, err
	}
	text := base64.RawURLEncoding.EncodeToString(payload)
	return text + "." + base64.RawURLEncoding.EncodeToString(k.signLink(q.UID, text)), ends, nil
}

// OpenedLink is a verified signed link.
type OpenedLink struct {
	Identity auth.Identity
	Expires  time.Time
	Event    []byte // current state of the event, JSON
	// Revision is the content revision that the link was sent for; 0: as the question was
	// created. The person has not seen later changes, such as more duplicates.
	Revision int64
	mac      []byte
}

// linkError reports an invalid link with its reason and the next step.
func linkError(why string) error {
	return &schema.HintError{
		Err:  &schema.FieldError{Field: "token", Detail: why, Cause: schema.ErrNotAllowed},
		Hint: "Open the request in the dashboard and sign in to answer it.",
	}
}

// OpenLink verifies a signed link of a question. cookie is the sign-in of the browser, which only the links
// of push messages need: their token takes the place of the page key. It changes nothing.
func (k *core) OpenLink(ctx context.Context, id schema.EventID, token, cookie string) (*OpenedLink, error) {
	q, err := k.readQuestion(ctx, id)
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
	if _, key := k.linkKey(); err == nil && claims.KeyID != key {
		return nil, linkError("was created by another hub or before the hub's key was replaced")
	}
	if err != nil || !hmac.Equal(mac, k.signLink(q.UID, text)) {
		return nil, linkError("is incomplete or belongs to another request; copy the whole link from the mail")
	}
	link := &OpenedLink{Expires: time.Unix(claims.Expires, 0), Revision: claims.Revision, mac: mac, Event: q.Event.AppendJSON(nil, -1)}
	if claims.Browser {
		if err := k.Accounts.CheckSignedIn(cookie, claims.Person); err != nil {
			return nil, err
		}
	}
	used, err := k.Store.IsLinkUsed(ctx, id, mac)
	if err != nil {
		return nil, err
	}
	var hasAccount bool
	link.Identity, hasAccount = k.identityOf(claims.Person)
	switch {
	case !hasAccount || !link.Identity.HasRole(schema.Operator) || q.Predates(k.createdAt(claims.Person)):
		return nil, linkError("was sent to a person who may no longer answer")
	case used:
		return nil, linkError("has been used: it works once, and that answer is stored")
	case q.Status.Status == schema.Responded:
		return nil, &schema.StatusError{Err: schema.ErrDecided, Status: q.Status}
	case q.Status.IsSettled():
		return nil, &schema.StatusError{Err: schema.ErrExpired, Status: q.Status}
	case !k.Clock().Before(link.Expires):
		return nil, linkError("has expired")
	case claims.Revision != q.ContentRevision():
		return nil, &schema.HintError{
			Err:  &schema.StatusError{Err: schema.ErrStale, Status: q.Status},
			Hint: "The request was changed after this link was sent. Open it in the dashboard and sign in to answer the current version.",
		}
	}
	return link, nil
}

// VoteByLink verifies a signed link, calls vote and marks the link as used if vote succeeds.
// Calls are serialized.
func (k *core) VoteByLink(ctx context.Context, id schema.EventID, token, cookie string, vote func(*OpenedLink) error) error {
	k.linkMu.Lock()
	defer k.linkMu.Unlock()
	link, err := k.OpenLink(ctx, id, token, cookie)
	if err != nil {
		return err
	}
	if err := vote(link); err != nil {
		return err
	}
	return k.Store.UseLink(context.WithoutCancel(ctx), id, link.mac)
}
