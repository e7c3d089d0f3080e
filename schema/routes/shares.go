package routes

import (
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

var shares = []Route{
	{
		Method: "GET", Path: control.PathShares, Access: schema.AccessOwn, Summary: "List share links",
		Description: "Returns the share links that have not ended, of one session or of all, the newest first.",
		Query:       []Param{appParam, idParam},
		Response:    []control.Share{}, Returns: "the links, without their secrets",
	},
	{
		Method: "POST", Path: control.PathShares, Access: schema.AccessOwn, Summary: "Share a session",
		Description: "Creates a link that shows one session to people who are not signed in, read-only, for 1, 24 or 168 hours. It takes an operator in a signed-in browser. The link is shown once.",
		Request:     control.ShareDraft{}, Response: control.Share{}, Created: true, Returns: "the link with its URL", Errors: []error{schema.ErrNotFound},
	},
	{
		Method: "DELETE", Path: control.PathShare, Access: schema.AccessOwn, Summary: "Revoke a share link",
		Description: "Ends the link :id. Its author and admins may.",
		Response:    []control.Share{}, Returns: "the remaining links",
	},
	{
		Method: "GET", Path: control.PathShared, Access: schema.AccessPublic, Summary: "Open a share link",
		Description: "Returns the session that a share link shows. The header also opens GET /events of that session, its events by id, GET /api/session and GET /api/session/files, without names of people other than responders, and nothing else. Wrong secrets count as failed sign-ins.",
		Headers:     []Param{{control.ShareHeader, "the secret of the link, the fragment of its URL"}},
		Response:    control.SharedSession{}, Returns: "the session", Errors: []error{schema.ErrSignIn, schema.ErrTooMany},
	},
}
