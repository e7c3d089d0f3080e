package routes

import (
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

var freezes = []Route{
	{
		Method: "GET", Path: control.PathFreezes, Access: schema.AccessRead, Summary: "List freezes",
		Description: "Returns the active freezes, oldest first, and how many sessions they stopped.",
		Response:    control.FreezeList{}, Returns: "the active freezes",
	},
	{
		Method: "POST", Path: control.PathFreezes, Access: schema.AccessPost, Summary: "Freeze agents",
		Description: "Stops all agents, those of an application, or one session at their next tool call. Until the freeze is lifted, their requests can be denied but not approved.",
		Request:     control.FreezeDraft{}, Response: control.Freeze{}, Returns: "the freeze; if the scope is frozen already, its active one", Created: true,
		Errors: []error{schema.ErrTooMany},
	},
	{
		Method: "DELETE", Path: control.PathFreeze, Access: schema.AccessDecide, Summary: "Lift a freeze",
		Description: "Lifts a freeze. Once the hub has an owner, this takes a person with the role operator.",
		Response:    control.Freeze{}, Returns: "the lifted freeze",
	},
}
