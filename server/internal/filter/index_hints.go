package filter

import (
	"slices"
	"strconv"
)

// A search does not call Match for every event. The following methods return conditions that a
// matching event must satisfy, so that an index can find the candidates.

// QuestionsOnly reports whether only questions can match.
func (f *Filter) QuestionsOnly() bool {
	return slices.ContainsFunc(f.terms, func(t term) bool {
		return !t.negated && t.keyed && (isStatusKey(t.key) || t.key == "kind")
	})
}

// RatedOnly reports whether only questions and events with a rating can match.
func (f *Filter) RatedOnly() bool {
	return slices.ContainsFunc(f.terms, func(t term) bool { return !t.negated && t.keyed && isRatedKey(t.key) })
}

// UsesRatings reports whether a match depends on the ratings of events.
func (f *Filter) UsesRatings() bool {
	return slices.ContainsFunc(f.terms, func(t term) bool { return t.keyed && isRatedKey(t.key) })
}

// UsesTranscripts reports whether a match depends on Event.Transcript.
func (f *Filter) UsesTranscripts() bool {
	return slices.ContainsFunc(f.terms, func(t term) bool { return t.keyed && t.key == transcriptKey })
}

// TranscriptsOnly reports whether only events with a transcript can match.
func (f *Filter) TranscriptsOnly() bool {
	return slices.ContainsFunc(f.terms, func(t term) bool { return t.keyed && t.key == transcriptKey && !t.negated })
}

// Status returns the state that a question must be in, or "" for any.
func (f *Filter) Status() string { return f.exactValue("status") }

// ID returns the id of the only event that can match, or 0 for any.
func (f *Filter) ID() int64 {
	id, err := strconv.ParseInt(f.exactValue("id"), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

func (f *Filter) exactValue(key string) string {
	for _, t := range f.terms {
		if t.keyed && t.key == key && !t.negated && t.regex == nil && t.glob == nil {
			return t.value
		}
	}
	return ""
}

// Name is a condition on one of an event's names.
type Name struct {
	Key     string // app, session, type or tool
	Negated bool   // the name must not match
	term    *term
}

// Matches reports whether name matches the pattern, regardless of Not.
func (n *Name) Matches(name string) bool { return n.term.matchesText(Fold(name)) }

// Fragments returns folded texts that a matching name contains in order, with anything between
// two of them. The first is its prefix, the last its suffix.
func (n *Name) Fragments() []string {
	switch {
	case n.term.regex != nil:
		return []string{"", ""}
	case n.term.glob != nil:
		return n.term.glob
	default:
		return []string{n.term.value}
	}
}

// Names returns the conditions on names.
func (f *Filter) Names() (list []Name) {
	for i := range f.terms {
		t := &f.terms[i]
		if !t.keyed {
			continue
		}
		switch t.key {
		case "agent", "app":
			list = append(list, Name{"app", t.negated, t})
		case "session", "type", "tool":
			list = append(list, Name{t.key, t.negated, t})
		}
	}
	return list
}
