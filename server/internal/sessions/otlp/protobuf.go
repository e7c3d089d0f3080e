package otlp

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxElements is the number of elements of all lists of a body. An empty one is 2 bytes on the wire and about a hundred
// in memory; the generated messages would hold a whole body (server/docs/decisions/sessions.md#telemetry).
const maxElements = 64 * MaxRecords

// decodeProtobuf decodes a body into the structures that decodeJSON fills. The tag pb of a member has the number of its
// field in opentelemetry-proto 1.x and, for a scalar, its type. Other fields are skipped.
func decodeProtobuf(body []byte, into any) error {
	elements := 0
	return readMessage(body, reflect.ValueOf(into).Elem(), &elements)
}

func readMessage(message []byte, into reflect.Value, elements *int) error {
	for len(message) > 0 {
		number, wire, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return ErrMalformed
		}
		size := protowire.ConsumeFieldValue(number, wire, message[tag:])
		if size < 0 {
			return ErrMalformed
		}
		value := message[tag : tag+size]
		message = message[tag+size:]
		if m, ok := layoutOf(into.Type())[number]; ok && wireTypes[m.kind] == wire {
			if err := readField(value, m.kind, into.Field(m.index), elements); err != nil {
				return err
			}
		}
	}
	return nil
}

// member is a member of a structure by its tag pb.
type member struct {
	index int
	kind  string
}

var layouts sync.Map // reflect.Type → map[protowire.Number]member

func layoutOf(t reflect.Type) map[protowire.Number]member {
	if known, ok := layouts.Load(t); ok {
		return known.(map[protowire.Number]member)
	}
	layout := map[protowire.Number]member{}
	for i := range t.NumField() {
		id, kind, _ := strings.Cut(t.Field(i).Tag.Get("pb"), ",")
		if number, err := strconv.ParseInt(id, 10, 32); err == nil {
			layout[protowire.Number(number)] = member{i, kind}
		}
	}
	layouts.Store(t, layout)
	return layout
}

// wireTypes are the types of the tag pb. A message or a list of messages has none.
var wireTypes = map[string]protowire.Type{
	"": protowire.BytesType, "text": protowire.BytesType, "bool": protowire.VarintType, "int": protowire.VarintType,
	"fixed": protowire.Fixed64Type, "double": protowire.Fixed64Type,
}

// readField decodes a valid field.
func readField(value []byte, kind string, into reflect.Value, elements *int) error {
	var bits uint64
	switch wireTypes[kind] {
	case protowire.VarintType:
		bits, _ = protowire.ConsumeVarint(value)
	case protowire.Fixed64Type:
		bits, _ = protowire.ConsumeFixed64(value)
	default:
		value, _ = protowire.ConsumeBytes(value)
	}
	switch {
	case kind == "text":
		if !utf8.Valid(value) {
			return ErrMalformed
		}
		into.SetString(string(value))
	case kind == "bool":
		into.SetString(strconv.FormatBool(bits != 0))
	case kind == "double":
		into.SetString(strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64))
	case kind != "":
		into.SetString(strconv.FormatInt(int64(bits), 10)) // a time before the year 2262 is positive
	case into.Type() == reflect.TypeFor[json.RawMessage](): // only counted
		into.SetBytes([]byte("{}"))
	case into.Kind() == reflect.Slice:
		if *elements++; *elements > maxElements {
			return ErrMalformed
		}
		into.Set(reflect.Append(into, reflect.Zero(into.Type().Elem())))
		element := into.Index(into.Len() - 1)
		if element.Kind() == reflect.Struct {
			return readMessage(value, element, elements)
		}
	default:
		return readMessage(value, into, elements)
	}
	return nil
}
