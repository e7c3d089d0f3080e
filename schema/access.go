package schema

// Access is the class of a route. It states which callers may use the route, on an open and on a
// locked hub. The zero value is invalid. Questions can restrict their answers further, for example
// to their recipients.
type Access string

// The classes of routes. A local caller is a program on the hub's machine without credentials.
const (
	// AccessPublic admits every caller, also from other machines.
	AccessPublic Access = "public"
	// AccessPost admits local callers, agents' tokens for their applications, and operators.
	AccessPost Access = "post"
	// AccessAsker admits every authenticated or local caller. A secret in the request, such as the
	// request secret of a question, proves that the request is the caller's own.
	AccessAsker Access = "asker"
	// AccessRead admits local callers, agents' tokens for their applications, and people.
	AccessRead Access = "read"
	// AccessDecide admits operators, and local callers while the hub is open.
	AccessDecide Access = "decide"
	// AccessCancel admits the same callers as AccessDecide. Admins may cancel every question,
	// others only the ones that they may answer.
	AccessCancel Access = "cancel"
	// AccessKeep admits operators. It is for decisions that outlive the lock.
	AccessKeep Access = "keep"
	// AccessOwn admits people who are signed in with a browser. It is for a person's own settings
	// and credentials.
	AccessOwn Access = "own"
	// AccessAdmin admits admins.
	AccessAdmin Access = "admin"
)

// Accesses lists the classes, from the least to the most restricted.
var Accesses = []Access{AccessPublic, AccessPost, AccessAsker, AccessRead, AccessDecide, AccessCancel, AccessKeep, AccessOwn, AccessAdmin}
