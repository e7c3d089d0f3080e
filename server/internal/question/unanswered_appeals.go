package question

import (
	"bytes"
	"encoding/json"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// maxUnansweredAppeals is the number of unanswered appeals in a row after which later ones of
	// the session do not wait, until someone opens or answers one.
	maxUnansweredAppeals = 2
	// maxAppealSessions bounds the memory for unanswered appeals.
	maxAppealSessions = 1000
)

// UnansweredAppeals counts the appeals of each session that ended without an answer. The zero value
// is empty. It is not safe for concurrent use.
type UnansweredAppeals struct {
	counts   map[store.SessionKey]int
	sessions map[schema.EventID]store.SessionKey // of the counted appeals, and of appeals that did not wait
}

// IsAppeal reports whether a stored question is an appeal, without decoding other questions.
func IsAppeal(e *store.Event) bool {
	if !bytes.Contains(e.Question, []byte(`"appeal":`)) {
		return false
	}
	var q struct {
		Appeal *schema.Appeal `json:"appeal"`
	}
	return json.Unmarshal(e.Question, &q) == nil && q.Appeal != nil
}

// Refusal is the reason of a person for keeping a call refused, as a message to its session.
type Refusal struct {
	By      *schema.Responder
	Message control.MessageDraft
	Key     string // of the message
}

// RefusalOf returns the refusal of an appeal; nil: the event has none.
func RefusalOf(e *store.Event) *Refusal {
	var st schema.Status
	if !IsAppeal(e) || json.Unmarshal(e.Status, &st) != nil || st.Outcome != schema.Deny || st.RespondedBy == nil || st.Reason == "" ||
		st.Source != schema.ByHuman && st.Source != schema.ByQuorum {
		return nil
	}
	text := []rune("About the refused call: " + st.Reason)
	text = text[:min(len(text), control.MaxMessageText)]
	return &Refusal{st.RespondedBy, control.MessageDraft{
		SourceApp: e.App, SessionID: e.Session, Text: string(text), AgentID: HookFactsOf(e).AgentID,
	}, "appeal/" + e.ID.String()}
}

// End counts the resolution of an appeal.
func (u *UnansweredAppeals) End(e *store.Event) {
	if !IsAppeal(e) {
		return
	}
	var st struct {
		Outcome schema.Outcome `json:"outcome"`
		Source  schema.EndedBy `json:"source"`
	}
	if json.Unmarshal(e.Status, &st) != nil {
		return
	}
	key := store.SessionKey{App: e.App, Session: e.Session}
	if st.Source == schema.ByHuman || st.Source == schema.ByQuorum {
		u.forget(key)
		return
	}
	if u.counts == nil || len(u.counts) >= maxAppealSessions {
		u.counts, u.sessions = map[store.SessionKey]int{}, map[schema.EventID]store.SessionKey{}
	}
	if st.Outcome == schema.Timeout {
		u.counts[key]++
	}
	if u.counts[key] > 0 && len(u.sessions) < 16*maxAppealSessions {
		u.sessions[e.ID] = key
	}
}

func (u *UnansweredAppeals) forget(key store.SessionKey) {
	delete(u.counts, key)
	for id, session := range u.sessions {
		if session == key {
			delete(u.sessions, id)
		}
	}
}

// Opened records that a person has the appeal open.
func (u *UnansweredAppeals) Opened(id schema.EventID) {
	if key, ok := u.sessions[id]; ok {
		u.forget(key)
	}
}

// AreIgnored reports whether no one answered the last appeals of the session.
func (u *UnansweredAppeals) AreIgnored(key store.SessionKey) bool {
	return u.counts[key] >= maxUnansweredAppeals
}
