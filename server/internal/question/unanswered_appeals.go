package question

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

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

// appealOf returns the appeal of a stored question, without decoding other questions; nil: it is none.
func appealOf(e *store.Event) *schema.Appeal {
	if !bytes.Contains(e.Question, []byte(`"appeal":`)) {
		return nil
	}
	var q struct {
		Appeal *schema.Appeal `json:"appeal"`
	}
	if json.Unmarshal(e.Question, &q) != nil {
		return nil
	}
	return q.Appeal
}

// Notice tells the session how a person decided its appeal, if its hook can't: the hook of a refused call can't tell
// the reason for keeping it refused, and no hook waits for a call without which the agent has continued.
type Notice struct {
	By      *schema.Responder
	Message control.MessageDraft
	Key     string // of the message
}

// NoticeOf returns the notice about a question that has ended; nil: there is none.
func NoticeOf(e *store.Event) *Notice {
	appeal := appealOf(e)
	var st schema.Status
	if appeal == nil || json.Unmarshal(e.Status, &st) != nil || st.RespondedBy == nil ||
		st.Source != schema.ByHuman && st.Source != schema.ByQuorum {
		return nil
	}
	var text string
	switch {
	case appeal.Later && st.Outcome == schema.Approve:
		text = fmt.Sprintf("Request %d was approved: run exactly the same call again now. It works once, within an hour. %s", e.ID, st.Reason)
	case appeal.Later && st.Outcome == schema.Deny:
		text = fmt.Sprintf("Request %d was denied: do not run that call. %s", e.ID, st.Reason)
	case st.Outcome == schema.Deny && st.Reason != "":
		text = "About the refused call: " + st.Reason
	default:
		return nil
	}
	runes := []rune(strings.TrimSpace(text))
	return &Notice{st.RespondedBy, control.MessageDraft{
		SourceApp: e.App, SessionID: e.Session, Text: string(runes[:min(len(runes), control.MaxMessageText)]), AgentID: HookFactsOf(e).AgentID,
	}, "appeal/" + e.ID.String()}
}

// End counts the resolution of an appeal.
func (u *UnansweredAppeals) End(e *store.Event) {
	if appeal := appealOf(e); appeal == nil || appeal.Later { // the agent does not wait for it
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
