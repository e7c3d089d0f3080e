package control

import "github.com/hookback/hookback/schema"

// The paths of the hub's public address.
const (
	PathReach      = "/api/reach"
	PathReachCheck = "/api/reach/check"
	PathPairing    = "/api/pairing"
)

// ReachSettings is the body of PUT /api/reach.
type ReachSettings struct {
	// PublicURL is the address at which people reach the hub from other devices, such as
	// https://hub.example.com. Links start with it. Empty: the address that the hub listens on.
	PublicURL string `json:"publicUrl"`
}

// ReachState states whether other devices can open the hub's links.
type ReachState string

// The states of the public address.
const (
	ReachLocal     ReachState = "local"     // links work only on the hub's machine
	ReachUnchecked ReachState = "unchecked" // not checked yet
	ReachOK        ReachState = "ok"        // this hub answered at its public address
	ReachFailed    ReachState = "failed"    // another program answered, or none
)

// Reach is the body of GET /api/reach, and the response to PUT.
type Reach struct {
	PublicURL string     `json:"publicUrl"` // base of links, as applied
	State     ReachState `json:"state"`
	Reason    string     `json:"reason,omitempty"` // why the state is failed, one sentence
	// Flag is the flag that the hub was started with, such as -public-url https://hub.example.com. It
	// overrules the setting. Absent: none.
	Flag string `json:"flag,omitempty"`
	// Machine is the name of the hub's machine.
	Machine string `json:"machine"`
}

// PairingCode is the response to POST /api/pairing.
type PairingCode struct {
	// URL signs in one device as the caller, with at most the role operator. It is shown once.
	URL       string        `json:"url"`
	QR        string        `json:"qr"` // the URL as a QR code, an SVG image
	ExpiresAt schema.Millis `json:"expiresAt"`
}
