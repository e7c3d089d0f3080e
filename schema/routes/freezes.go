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
	{
		Method: "GET", Path: control.PathSafety, Access: schema.AccessRead, Summary: "Read the limits of automatic freezes",
		Description: "Returns the limits at which the hub freezes a session, as stored and as applied, and the last 20 automatic freezes. The flag -freeze-after overrules the stored number of equal failures.",
		Response:    control.Safety{}, Returns: "the limits",
	},
	{
		Method: "PUT", Path: control.PathSafety, Access: schema.AccessAdmin, Summary: "Set the limits of automatic freezes",
		Description: "Replaces the limits at which the hub freezes a session. They apply at once, also to sessions that run: to spending of the last minutes, and to failures from now on. The change is an entry of the audit log.",
		Request:     control.SafetySettings{}, Response: control.Safety{}, Returns: "the new limits",
	},
	{
		Method: "GET", Path: control.PathRequestDefaults, Access: schema.AccessRead, Summary: "Read the defaults of requests",
		Description: "Returns the deadline, recipients and number of approvals that hold for new questions that do not state them, by kind and risk.",
		Response:    control.RequestDefaults{}, Returns: "the defaults",
	},
	{
		Method: "PUT", Path: control.PathRequestDefaults, Access: schema.AccessAdmin, Summary: "Set the defaults of requests",
		Description: "Replaces the defaults. They apply to questions that are posted afterward, and never shorten or replace settings that an agent states; only a number of approvals that is higher than the stated one applies. The change is an entry of the audit log.",
		Request:     control.RequestDefaults{}, Response: control.RequestDefaults{}, Returns: "the new defaults",
	},
	{
		Method: "GET", Path: control.PathReach, Access: schema.AccessRead, Summary: "Read the public address",
		Description: "Returns the address that links start with, and whether this hub answered there at the last check. The hub checks it every 10 minutes.",
		Response:    control.Reach{}, Returns: "the public address",
	},
	{
		Method: "PUT", Path: control.PathReach, Access: schema.AccessAdmin, Summary: "Set the public address",
		Description: "Checks that this hub answers at the address, and saves it. It applies at once: the hub accepts requests for its host name, and links start with it. An address at which this hub does not answer changes nothing. An empty address removes the setting. The change is an entry of the audit log.",
		Request:     control.ReachSettings{}, Response: control.Reach{}, Returns: "the new address",
	},
	{
		Method: "POST", Path: control.PathReachCheck, Access: schema.AccessAdmin, Summary: "Check the public address",
		Description: "Checks now that this hub answers at its public address, and returns the state.",
		Response:    control.Reach{}, Returns: "the public address",
	},
	{
		Method: "POST", Path: control.PathPairing, Access: schema.AccessOwn, Summary: "Create a pairing code",
		Description: "Creates a code that signs in one further device as the caller, once and within 10 minutes, with at most the role operator, and invalidates earlier codes and sign-in links of the caller. It takes a sign-in with a link or the OpenID provider, a passkey if the caller has one, and a public address at which this hub answers. The code is an entry of the audit log.",
		Request:     schema.Confirmation{}, Response: control.PairingCode{}, Returns: "the code", Errors: []error{schema.ErrProofRequired},
	},
}
