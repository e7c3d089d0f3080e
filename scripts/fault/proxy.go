package main

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// proxy forwards TCP connections to a server that may change. Its network can fail.
type proxy struct {
	listener net.Listener

	mu        sync.Mutex // guards the fields below
	target    string
	isCut     bool          // connections break
	hole      chan struct{} // not nil: nothing is forwarded until it is closed, as if packets were dropped
	conns     map[net.Conn]bool
	connected time.Time // when a connection was forwarded last
}

// newProxy listens on a free loopback port until close.
func newProxy(target string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, target: target, conns: map[net.Conn]bool{}}
	go p.run()
	return p, nil
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) run() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.forward(client)
	}
}

// forward connects a client with the target.
func (p *proxy) forward(client net.Conn) {
	p.mu.Lock()
	target, isCut := p.target, p.isCut
	p.mu.Unlock()
	server, err := net.DialTimeout("tcp", target, time.Second)
	if err != nil || isCut {
		_ = client.Close()
		if err == nil {
			_ = server.Close()
		}
		return
	}
	p.mu.Lock()
	p.conns[client], p.conns[server] = true, true
	p.connected = time.Now()
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.copy(server, client) })
	both.Go(func() { p.copy(client, server) })
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, client)
	delete(p.conns, server)
}

// copy forwards one direction. Both connections are closed when it ends.
func (p *proxy) copy(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		hole := p.hole
		p.mu.Unlock()
		if hole != nil {
			<-hole
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// retarget sends new connections to another server.
func (p *proxy) retarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// lastConnected returns when a connection was forwarded last.
func (p *proxy) lastConnected() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.connected
}

// cut breaks all connections and refuses new ones.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = true
	for c := range p.conns {
		_ = c.Close()
	}
}

// blackhole forwards nothing more, and closes nothing.
func (p *proxy) blackhole() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hole == nil {
		p.hole = make(chan struct{})
	}
}

// heal ends a cut or a black hole.
func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = false
	if p.hole != nil {
		close(p.hole)
		p.hole = nil
	}
}

func (p *proxy) close() error {
	p.cut()
	p.heal()
	err := p.listener.Close()
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
