package routes

import (
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

var claims = []Route{
	{
		Method: "GET", Path: control.PathClaims, Access: schema.AccessRead, Summary: "List claims",
		Description: "Returns who handles which pending request. The hub keeps claims in memory only: a restart ends them.",
		Response:    control.ClaimList{}, Returns: "the active claims",
	},
	{
		Method: "POST", Path: control.PathClaim, Access: schema.AccessKeep, Summary: "Claim a request, or hand it over",
		Description: "Shows to everyone that the caller handles the request, or the named person. A claim informs and blocks nothing, and replaces an earlier one. It ends after two minutes unless a page of its person shows the request, and when the request is resolved. It takes a person with the role operator: neither an agent's token nor a caller without credentials can claim.",
		Request:     control.ClaimDraft{}, Response: control.ClaimList{}, Returns: "the active claims",
		Errors: []error{schema.ErrNoQuestion, schema.ErrDecided, schema.ErrExpired},
	},
	{
		Method: "DELETE", Path: control.PathClaim, Access: schema.AccessKeep, Summary: "Release a request",
		Description: "Ends a claim. Its person, the person who handed it over, and admins can do this.",
		Response:    control.ClaimList{}, Returns: "the active claims", Errors: []error{schema.ErrNoQuestion},
	},
}
