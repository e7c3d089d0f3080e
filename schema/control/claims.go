package control

import (
	"time"

	"github.com/hookback/hookback/schema"
)

// The paths of claims.
const (
	PathClaims = "/api/claims"
	PathClaim  = "/events/:id/claim"
)

// ClaimLease is how long a claim lasts after the person's page last showed the request.
const ClaimLease = 2 * time.Minute

// Claim states that a person handles a pending request. It informs the others and blocks nothing.
// The hub keeps claims in memory only: a restart ends them, and they are not in the audit log.
type Claim struct {
	ID        schema.EventID `json:"id"`
	Person    string         `json:"person"`
	By        string         `json:"by,omitempty"` // who handed the request over to Person
	ExpiresAt schema.Millis  `json:"expires_at"`   // renewed while a page of Person shows the request
}

// ClaimDraft is the body of POST /events/:id/claim.
type ClaimDraft struct {
	To string `json:"to,omitempty"` // a person with the role operator; absent: the caller
}

// ClaimList is the response of the routes of claims: all active claims, by the id of the request.
type ClaimList struct {
	Claims []Claim `json:"claims"`
}
