package question

import (
	"encoding/json"
	"strings"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/schema"
)

// Limits of a view, because every status of its question contains it.
const (
	maxViewEntries = 32
	maxViewBytes   = 4 << 10 // of the texts in one list
	maxReason      = 200     // of a reason, which can quote the call
	maxSource      = 16 << 10
)

// viewOf returns the view of a call for the page.
func viewOf(c *call.Call) *schema.CallView {
	// With a name that is there twice, a pointer has two meanings, and half a character has several lengths.
	b := &viewBuilder{call: c, isExact: jsontext.Value(c.Arguments).IsValid()}
	v := &schema.CallView{
		Unread: entries(b, c.Unread, func(u *call.Unread) (e schema.CallUnread, bytes int) {
			e = schema.CallUnread{CallPlace: b.placeOf(u.Span), Reason: strings.ToValidUTF8(u.Reason[:min(len(u.Reason), maxReason)], "")}
			return e, len(e.At) + len(e.Reason)
		}),
		Lines: entries(b, c.Lines, func(l *call.Line) (e schema.CallLine, bytes int) {
			e = schema.CallLine{CallPlace: b.placeOf(l.Span), Shell: string(l.Shell)}
			if b.textAt(l.Span.Pointer) != l.Text {
				e.Text = l.Text
			}
			return e, len(e.At) + len(e.Text)
		}),
		Commands: entries(b, c.Commands, func(cmd *call.Command) (e schema.CallCommand, bytes int) {
			e.CallPlace = b.placeOf(cmd.Span)
			if len(cmd.Words) > 0 {
				e.CallPlace, e.Program = b.placeOf(cmd.Words[0].Span), plainText(cmd.Words[0].Text)
			}
			if cmd.Dir != c.Dir {
				e.Dir = plainText(cmd.Dir)
			}
			return e, len(e.At) + len(e.Program) + len(e.Dir)
		}),
		Files: entries(b, c.Files, func(f *call.File) (schema.CallFile, int) {
			e := schema.CallFile{CallPlace: b.placeOf(f.Span), Path: plainText(f.Path), Op: string(f.Op)}
			return e, len(e.At) + len(e.Path)
		}),
		Hosts: entries(b, c.Hosts, func(h *call.Host) (schema.CallHost, int) {
			e := schema.CallHost{CallPlace: b.placeOf(h.Span), Name: plainText(h.Name), Method: h.Method}
			return e, len(e.At) + len(e.Name)
		}),
	}
	if len(v.Commands) < len(c.Commands) { // with some of them marked, the others would look like text
		b.omitted += len(v.Commands)
		v.Commands = nil
	}
	v.Omitted = b.omitted
	switch {
	case jsontext.Value(c.Arguments).IsValid(jsontext.AllowInvalidUTF8(true)) || !json.Valid(c.Arguments):
	case len(c.Arguments) <= maxSource:
		v.Source = string(c.Arguments)
	default:
		v.Unread = append(v.Unread, schema.CallUnread{Reason: "an argument is there twice, and the arguments are too long to show both"})
	}
	return v
}

// viewBuilder builds a view within its limits.
type viewBuilder struct {
	call    *call.Call
	isExact bool // places in the arguments are
	omitted int
}

// entries returns the entries of a list. view returns one and the length of its texts.
func entries[T, E any](b *viewBuilder, from []T, view func(*T) (E, int)) (list []E) {
	room := maxViewBytes
	for i := range min(len(from), maxViewEntries) {
		if entry, bytes := view(&from[i]); bytes <= room {
			list, room = append(list, entry), room-bytes
		}
	}
	b.omitted += len(from) - len(list)
	return list
}

// plainText writes "…" for what is known only at run time.
func plainText(text string) string { return strings.ReplaceAll(text, call.Expansion, "…") }

// placeOf returns a place with offsets in UTF-16 code units.
func (b *viewBuilder) placeOf(s call.Span) schema.CallPlace {
	if s.Pointer == call.LongPointer {
		return schema.CallPlace{}
	}
	text := b.textAt(s.Pointer)
	if s.From < 0 || s.From >= s.To || s.To > len(text) || s.To-s.From == len(text) {
		return schema.CallPlace{At: s.Pointer}
	}
	from := utf16Length(text[:s.From])
	return schema.CallPlace{At: s.Pointer, From: from, To: from + utf16Length(text[s.From:s.To])}
}

func utf16Length(text string) (n int) {
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// textAt returns the text at a JSON pointer; empty if its place is not exact.
func (b *viewBuilder) textAt(pointer string) string {
	if !b.isExact {
		return ""
	}
	return b.call.TextAt(call.Span{Pointer: pointer})
}
