package schema

import _ "embed"

// JSONSchema is the contract as JSON Schema 2020-12, made from this package's
// types by go run ./schema/gen. $defs holds one definition per message.
//
//go:embed hub.schema.json
var JSONSchema []byte

// OpenAPI is the hub's interface as OpenAPI 3.1, made from Routes.
//
//go:embed openapi.json
var OpenAPI []byte
