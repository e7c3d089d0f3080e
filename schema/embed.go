package schema

import _ "embed"

// JSONSchema is the contract as JSON Schema 2020-12. It is generated from the types of this package
// with go run ./schema/gen. $defs holds one definition per message.
//
//go:embed hub.schema.json
var JSONSchema []byte

// OpenAPI describes the HTTP API of the hub as OpenAPI 3.1, generated from Routes.
//
//go:embed openapi.json
var OpenAPI []byte
