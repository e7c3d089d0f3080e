package sessions

import (
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// maxCachedSessions and maxCachedBytes limit the cache of sessions. Bytes count the stored
// facts.
const (
	maxCachedSessions = 512
	maxCachedBytes    = 4 << 20
)

// sessionCache holds the sessions of the last batches as they are stored, so that a session with
// events in every batch is not read and decoded each time.
type sessionCache struct {
	sessions map[store.SessionKey]*digest.Session
	bytes    int // written since the cache was empty
}

// take removes and returns a session, or returns nil. The caller may change it, and puts it back
// once the change is stored. Retention may have removed a session whose events are all in the
// log up to pruned, so that one is not returned.
func (c *sessionCache) take(key store.SessionKey, pruned int64) *digest.Session {
	session := c.sessions[key]
	delete(c.sessions, key)
	if session == nil || int64(session.Sum.LastID) <= pruned {
		return nil
	}
	return session
}

// put adds the sessions that were stored as these rows.
func (c *sessionCache) put(sessions map[store.SessionKey]*digest.Session, rows []store.SessionRow) {
	for i := range rows {
		c.bytes += len(rows[i].Facts)
	}
	if c.sessions == nil || len(c.sessions)+len(sessions) > maxCachedSessions || c.bytes > maxCachedBytes {
		c.clear()
	}
	for key, session := range sessions {
		if session.Sum.Events > 0 && len(c.sessions) < maxCachedSessions {
			c.sessions[key] = session
		}
	}
}

// clear drops all sessions, for which the stored ones may be different.
func (c *sessionCache) clear() {
	c.sessions, c.bytes = map[store.SessionKey]*digest.Session{}, 0
}
