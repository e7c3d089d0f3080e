package middleware

import (
	"container/list"
	"sync"
)

// idleConns holds the connections that wait for a complete request: unused ones, those between two
// requests, and those whose request is still arriving. Beyond the limit the oldest is closed. So
// thousands of half-sent requests close one another and not the way of everyone else.
type idleConns struct {
	limit int

	mu   sync.Mutex
	list list.List // of *Conn, the oldest first
}

// add inserts a connection, and closes the oldest one beyond the limit.
func (i *idleConns) add(c *Conn) {
	if oldest := i.insert(c); oldest != nil {
		_ = oldest.Conn.Close() // the server notices and closes the conn
	}
}

// insert adds a connection and returns the oldest one if it is beyond the limit.
func (i *idleConns) insert(c *Conn) (oldest *Conn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if c.idle != nil || c.gone {
		return nil
	}
	c.idle = i.list.PushBack(c)
	if i.list.Len() <= i.limit {
		return nil
	}
	oldest, _ = i.list.Front().Value.(*Conn)
	i.removeLocked(oldest)
	return oldest
}

// remove deletes a connection whose request is complete.
func (i *idleConns) remove(c *Conn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.removeLocked(c)
}

// forget removes a closed connection permanently.
func (i *idleConns) forget(c *Conn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	c.gone = true
	i.removeLocked(c)
}

func (i *idleConns) removeLocked(c *Conn) {
	if c.idle != nil {
		i.list.Remove(c.idle)
		c.idle = nil
	}
}

func (i *idleConns) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.list.Len()
}
