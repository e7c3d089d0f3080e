package routes

import (
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

var testRequests = []Route{{
	Method: "POST", Path: schema.PathTestRequests, Access: schema.AccessDecide, Summary: "Send a test request",
	Description: "The hub asks a question itself, on a real listener, acknowledges the answer, and reports that an approved call ran. Nothing runs. The question has test in its status; rules and notifications ignore it. One can be open at a time.",
	Response:    schema.TestRequest{}, Returns: "the id of the question, once it is stored", Created: true,
	Errors: []error{schema.ErrTestPending, schema.ErrTestFailed},
}, {
	Method: "POST", Path: control.PathTestTickets, Access: schema.AccessPost, Summary: "Create a ticket for a check",
	Description: "Creates the ticket with which hookback doctor sends one event, in the header Hookback-Test of POST /events. The event needs the application hookback-test and a session that starts with doctor-. Its question must be a permission, has test and probe in its status, and can only be denied: a ticket approves nothing and hides no approval.",
	Response:    control.TestTicket{}, Returns: "a ticket that works once, within 60 seconds", Created: true,
}, {
	Method: "POST", Path: control.PathTestDenial, Access: schema.AccessAsker, Summary: "Deny the question of a check",
	Description: "Denies the question that was sent with a ticket, and no other. The ticket, which is also the request secret of the question, suffices, so the check works on a locked hub.",
	Headers:     []Param{{schema.SecretHeader, "the ticket"}},
	Request:     control.TestDenial{}, Response: schema.Event{}, Returns: "the event with its new status",
	Errors: []error{schema.ErrForbidden, schema.ErrNotFound, schema.ErrDecided, schema.ErrExpired}, Examples: Examples{Response: answeredExample},
}}
