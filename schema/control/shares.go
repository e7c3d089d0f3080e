package control

import "github.com/hookback/hookback/schema"

// The paths of share links.
const (
	PathShares = "/api/shares"
	PathShare  = "/api/shares/:id"
	PathShared = "/api/shared"
)

// ShareHeader carries the secret of a share link, the fragment of its URL. A request with it has no other
// credentials: the hub ignores its cookie and its token.
const ShareHeader = "Hookback-Share"

// Share is a link that shows one session to people who are not signed in, read-only. It ends at its expiry,
// when it is revoked, when its author is no longer an operator, and when the session is deleted.
type Share struct {
	ID        string        `json:"id"`
	SourceApp string        `json:"source_app"`
	SessionID string        `json:"session_id"`
	Person    string        `json:"person"` // its author
	CreatedAt schema.Millis `json:"createdAt"`
	ExpiresAt schema.Millis `json:"expiresAt"`
	// Transcript is set if the link also shows the transcripts of the session.
	Transcript bool `json:"transcript,omitempty"`
	// LastOpenedAt is when the link was last opened, and Opens how often, counted at most once per minute.
	LastOpenedAt schema.Millis `json:"lastOpenedAt,omitempty"`
	Opens        int64         `json:"opens,omitempty"`
	// URL is the link itself. It is shown once, to its author.
	URL string `json:"url,omitempty"`
}

// ShareDraft is the body of POST /api/shares.
type ShareDraft struct {
	SourceApp string `json:"source_app"`
	SessionID string `json:"session_id"`
	// Hours is the life of the link: 1, 24 or 168; default 24.
	Hours      int  `json:"hours,omitempty"`
	Transcript bool `json:"transcript,omitempty"` // also show the transcripts
}

// SharedSession describes a share link to the page that opens it.
type SharedSession struct {
	SourceApp  string        `json:"source_app"`
	SessionID  string        `json:"session_id"`
	Person     string        `json:"person"` // the author of the link
	ExpiresAt  schema.Millis `json:"expiresAt"`
	Transcript bool          `json:"transcript,omitempty"`
}
