package control

// Paths of the requests of hookback doctor.
const (
	PathTestTickets = "/api/test-requests/tickets"
	PathTestDenial  = "/api/test-requests/deny"
)

// TestHeader carries a ticket, which marks an event as one of hookback doctor.
const TestHeader = "Hookback-Test"

// TicketVariable is the environment variable in which hookback doctor gives a ticket to a hook.
const TicketVariable = "HOOKBACK_TEST_TICKET"

// TestSession is the beginning of the session of an event with a ticket.
const TestSession = "doctor-"

// TestTicket is the response to POST /api/test-requests/tickets.
type TestTicket struct {
	// Ticket works once, within 60 seconds. It is also the request secret of its question.
	Ticket string `json:"ticket"`
}

// TestDenial is the body of POST /api/test-requests/deny.
type TestDenial struct {
	Reason string `json:"reason,omitempty"`
}
