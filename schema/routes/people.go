package routes

import "github.com/hookback/hookback/schema"

var people = []Route{
	{
		Method: "GET", Path: schema.PathMe, Access: schema.AccessPublic, Summary: "Who am I",
		Description: "Returns the identity and permissions of the caller.",
		Response:    schema.Me{}, Returns: "the caller", Errors: []error{schema.ErrSignIn},
	},
	{
		Method: "POST", Path: schema.PathSignIn, Access: schema.AccessPublic, Summary: "Sign in",
		Description: "Signs in with the code of a one-time link and sets the cookie of a new sign-in. The first person to sign in owns the hub.",
		Request:     schema.SignInRequest{}, Response: schema.SignInResult{}, Returns: "the person and the key of the page",
		Errors: []error{schema.ErrSignIn, schema.ErrNotAllowed, schema.ErrTooMany},
	},
	{
		Method: "POST", Path: schema.PathSignOut, Access: schema.AccessOwn, Summary: "Sign out",
		Description: "Ends this browser's sign-in.",
		Response:    schema.Me{}, Returns: "the caller, signed out",
	},
	{
		Method: "GET", Path: schema.PathOIDC, Access: schema.AccessPublic, Summary: "Sign in with OpenID Connect",
		Description: "Redirects the browser to the OpenID provider. Without a provider the path does not exist.",
		Also:        map[int]string{303: "to the provider, or to the dashboard with an error"}, Errors: []error{schema.ErrNoRoute},
	},
	{
		Method: "GET", Path: schema.PathOIDCCallback, Access: schema.AccessPublic, Summary: "Return from OpenID Connect",
		Description: "Redirect URI of the OpenID provider: redirects the browser to the dashboard with the code of a one-time link, or with an error.",
		Query:       []Param{{"state", "state of the sign-in request"}, {"code", "authorization code of the provider"}, {"error", "error of the provider, in place of a code"}},
		Also:        map[int]string{303: "to the dashboard"}, Errors: []error{schema.ErrNoRoute},
	},
	{
		Method: "POST", Path: schema.PathLock, Access: schema.AccessAdmin, Summary: "Lock or unlock the hub",
		Description: "Locks the hub, so that only signed-in operators can answer, or unlocks it for programs of the hub's account.",
		Request:     schema.LockState{}, Response: schema.Me{}, Returns: "the caller, with the new state",
	},
	{
		Method: "GET", Path: schema.PathPeople, Access: schema.AccessRead, Summary: "List people",
		Description: "Returns the people of this hub. Only admins see their addresses.",
		Response:    []schema.Person{}, Returns: "the people",
	},
	{
		Method: "POST", Path: schema.PathPeople, Access: schema.AccessAdmin, Summary: "Add a person",
		Description: "Adds a person. The response contains a one-time sign-in link.",
		Request:     schema.PersonDraft{}, Response: schema.Person{}, Returns: "the person with the link", Errors: []error{schema.ErrProofRequired},
	},
	{
		Method: "POST", Path: schema.PathPerson, Access: schema.AccessAdmin, Summary: "Change a person",
		Description: "Changes the role or address of the person :name.",
		Request:     schema.PersonDraft{}, Response: schema.Person{}, Returns: "the changed person", Errors: []error{schema.ErrProofRequired},
	},
	{
		Method: "POST", Path: schema.PathPersonLink, Access: schema.AccessOwn, Summary: "Create a sign-in link",
		Description: "Creates a link that signs in the person :name once, within 15 minutes, and invalidates earlier links. For oneself, or by an admin for a person who has not signed in yet.",
		Request:     schema.Confirmation{}, Response: schema.Person{}, Returns: "the person with the link", Errors: []error{schema.ErrProofRequired},
	},
	{
		Method: "POST", Path: schema.PathPersonReset, Access: schema.AccessAdmin, Summary: "Reset a person",
		Description: "Resets the person :name, who is not the owner: ends their sign-ins, tokens and passkeys, so that a new link can be created. Everyone sees it for 24 hours, and their answers count only for later questions.",
		Request:     schema.Confirmation{}, Response: schema.Person{}, Returns: "the person", Errors: []error{schema.ErrProofRequired},
	},
	{
		Method: "DELETE", Path: schema.PathPerson, Access: schema.AccessAdmin, Summary: "Remove a person",
		Description: "Removes the person :name with their sign-ins and tokens.",
		Response:    []schema.Person{}, Returns: "the remaining people",
	},
	{
		Method: "GET", Path: schema.PathSignIns, Access: schema.AccessOwn, Summary: "List sign-ins",
		Description: "Returns the signed-in browsers: the caller's own, or all for an admin.",
		Response:    []schema.SignIn{}, Returns: "the sign-ins",
	},
	{
		Method: "DELETE", Path: schema.PathSignInByID, Access: schema.AccessOwn, Summary: "End a sign-in",
		Description: "Ends the sign-in :id. Its open streams close within a second.",
		Response:    []schema.SignIn{}, Returns: "the remaining sign-ins",
	},
	{
		Method: "GET", Path: schema.PathTokens, Access: schema.AccessOwn, Summary: "List tokens",
		Description: "Returns the tokens: the caller's own, or all for an admin.",
		Response:    []schema.Token{}, Returns: "the tokens, without their secrets",
	},
	{
		Method: "POST", Path: schema.PathTokens, Access: schema.AccessOwn, Summary: "Create a token",
		Description: "Creates a token for a person or an agent. It is shown once.",
		Request:     schema.TokenDraft{}, Response: schema.Token{}, Returns: "the token with its secret", Errors: []error{schema.ErrProofRequired},
	},
	{
		Method: "DELETE", Path: schema.PathToken, Access: schema.AccessOwn, Summary: "Revoke a token",
		Description: "Revokes the token :id. Its open streams close within a second.",
		Response:    []schema.Token{}, Returns: "the remaining tokens",
	},
}

var passkeys = []Route{
	{
		Method: "GET", Path: schema.PathPasskeys, Access: schema.AccessOwn, Summary: "List passkeys",
		Description: "Returns the passkeys of the signed-in person.",
		Response:    []schema.Passkey{}, Returns: "the passkeys", Errors: []error{schema.ErrNoRoute},
	},
	{
		Method: "POST", Path: schema.PathNewPasskey, Access: schema.AccessOwn, Summary: "Start registering a passkey",
		Description: "Returns options for navigator.credentials.create. The first passkey takes a sign-in younger than 10 minutes, a further one the proof of an existing one.",
		Request:     schema.Confirmation{}, Response: schema.PasskeyOptions{}, Returns: "the options", Errors: []error{schema.ErrProofRequired, schema.ErrNoRoute},
	},
	{
		Method: "POST", Path: schema.PathPasskeys, Access: schema.AccessOwn, Summary: "Register a passkey",
		Description: "Registers the passkey that the browser created.",
		Request:     schema.PasskeyDraft{}, Response: schema.Passkey{}, Returns: "the passkey", Errors: []error{schema.ErrProofRequired, schema.ErrNoRoute},
	},
	{
		Method: "DELETE", Path: schema.PathPasskey, Access: schema.AccessOwn, Summary: "Remove a passkey",
		Description: "Removes the caller's passkey :id, with the proof of a passkey. The last one stays while the hub uses passkeys.",
		Request:     schema.Confirmation{}, Response: []schema.Passkey{}, Returns: "the remaining passkeys", Errors: []error{schema.ErrProofRequired, schema.ErrNoRoute},
	},
	{
		Method: "POST", Path: schema.PathPasskeyConfirm, Access: schema.AccessOwn, Summary: "Start confirming a change",
		Description: "Returns options for navigator.credentials.get. The assertion is the proof of exactly this change of credentials, valid once and for two minutes.",
		Request:     schema.CredentialAction{}, Response: schema.PasskeyOptions{}, Returns: "the options", Errors: []error{schema.ErrProofRequired, schema.ErrNoRoute},
	},
	{
		Method: "POST", Path: schema.PathPasskeyChallenge, Access: schema.AccessOwn, Summary: "Start verifying an answer",
		Description: "Returns options for navigator.credentials.get. The assertion is the proof of exactly this answer, valid once and for two minutes.",
		Request:     schema.ChallengeRequest{}, Response: schema.PasskeyOptions{}, Returns: "the options",
		Errors: []error{
			schema.ErrNotFound, schema.ErrNoRoute, schema.ErrProofRequired, schema.ErrNoQuestion,
			schema.ErrWrongAnswer, schema.ErrDecided, schema.ErrExpired,
		},
	},
}
