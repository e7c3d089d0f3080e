package routes

import "github.com/hookback/hookback/schema"

var testRequests = []Route{{
	Method: "POST", Path: schema.PathTestRequests, Access: schema.AccessDecide, Summary: "Send a test request",
	Description: "The hub asks a question itself, on a real listener, acknowledges the answer, and reports that an approved call ran. Nothing runs. The question has test in its status; rules and notifications ignore it. One can be open at a time.",
	Response:    schema.TestRequest{}, Returns: "the id of the question, once it is stored", Created: true,
	Errors: []error{schema.ErrTestPending, schema.ErrTestFailed},
}}
