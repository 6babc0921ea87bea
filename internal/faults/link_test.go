package faults_test

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// pieceBytes is the most that a link carries at once; a command of ours to Redis fits into one piece.
const pieceBytes = 64 << 10

// conduct is how a link behaves; the zero value is a good cable.
type conduct struct {
	// down refuses connections and resets those that are open.
	down bool
	// silent takes what comes and carries nothing on, in either direction.
	silent bool
	// delay holds every piece of an answer back.
	delay time.Duration
	// bytesPerSecond bounds what goes towards the server; 0 means no bound.
	bytesPerSecond int
	// onRequest and onAnswer see each piece before it goes on, with the number of its connection; false holds it back and resets the connection.
	onRequest func(conn int64, piece []byte) bool
	onAnswer  func(conn int64, piece []byte) bool
}

// link is the cable between one process and one server.
type link struct {
	addr     string
	listener net.Listener
	wg       sync.WaitGroup
	numbers  atomic.Int64

	mu      sync.Mutex
	target  string
	conduct conduct
	// changed is closed when the conduct is another.
	changed chan struct{}
	pairs   map[*pair]struct{}
}

// pair is one carried connection: its two ends.
type pair struct {
	number int64
	client *net.TCPConn
	server *net.TCPConn
	once   sync.Once
	gone   chan struct{}
}

// link lays a cable to a server for as long as the bench stands.
func (b *bench) link(target string) *link {
	b.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	b.must(err)
	l := &link{addr: listener.Addr().String(), listener: listener, target: target, changed: make(chan struct{}), pairs: map[*pair]struct{}{}}
	l.wg.Go(l.accept)
	b.owner.Cleanup(func() {
		_ = listener.Close()
		l.set(conduct{down: true})
		l.wg.Wait()
	})
	return l
}

// set changes the conduct. A link that goes down resets what is open.
func (l *link) set(c conduct) {
	l.mu.Lock()
	l.conduct = c
	close(l.changed)
	l.changed = make(chan struct{})
	l.mu.Unlock()
	if c.down {
		l.reset()
	}
}

// heal makes it a good cable again.
func (l *link) heal() { l.set(conduct{}) }

// turn leads new connections to another server and resets the old ones.
func (l *link) turn(target string) {
	l.mu.Lock()
	l.target = target
	l.mu.Unlock()
	l.reset()
}

// reset breaks every open connection.
func (l *link) reset() {
	l.mu.Lock()
	var all []*pair
	for p := range l.pairs {
		all = append(all, p)
	}
	l.mu.Unlock()
	for _, p := range all {
		p.reset()
	}
}

func (l *link) now() (conduct, chan struct{}, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conduct, l.changed, l.target
}

func (l *link) accept() {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.wg.Go(func() { l.carry(conn.(*net.TCPConn)) })
	}
}

// carry serves one connection until one of its ends closes.
func (l *link) carry(client *net.TCPConn) {
	c, _, target := l.now()
	p := &pair{number: l.numbers.Add(1), client: client, gone: make(chan struct{})}
	if c.down {
		p.reset()
		return
	}
	server, err := net.DialTimeout("tcp", target, 5*time.Second)
	if err != nil {
		p.reset()
		return
	}
	p.server = server.(*net.TCPConn)
	l.mu.Lock()
	l.pairs[p] = struct{}{}
	down := l.conduct.down
	l.mu.Unlock()
	if down { // it went down meanwhile, and reset did not see this one
		p.reset()
	}
	var pumps sync.WaitGroup
	pumps.Go(func() { l.pump(p, p.server, p.client, true) })
	pumps.Go(func() { l.pump(p, p.client, p.server, false) })
	pumps.Wait()
	l.mu.Lock()
	delete(l.pairs, p)
	l.mu.Unlock()
}

func (l *link) pump(p *pair, to, from *net.TCPConn, request bool) {
	defer p.close()
	buf := make([]byte, pieceBytes)
	for {
		n, err := from.Read(buf)
		if n > 0 && !l.pass(p, to, buf[:n], request) {
			p.reset()
			return
		}
		if err != nil {
			return
		}
	}
}

// pass carries one piece as the conduct says; false means that the connection is to break.
func (l *link) pass(p *pair, to *net.TCPConn, piece []byte, request bool) bool {
	c, changed, _ := l.now()
	for c.silent {
		select {
		case <-changed:
		case <-p.gone:
			return false
		}
		c, changed, _ = l.now()
	}
	see := c.onAnswer
	if request {
		see = c.onRequest
	}
	if see != nil && !see(p.number, piece) {
		return false
	}
	if !request && !p.wait(c.delay) {
		return false
	}
	if !request || c.bytesPerSecond == 0 {
		_, err := to.Write(piece)
		return err == nil
	}
	for len(piece) > 0 {
		c, _, _ = l.now()
		share := len(piece)
		if c.bytesPerSecond > 0 {
			share = min(share, max(1, c.bytesPerSecond/10))
		}
		if _, err := to.Write(piece[:share]); err != nil || c.down {
			return false
		}
		piece = piece[share:]
		if c.bytesPerSecond > 0 && !p.wait(100*time.Millisecond) {
			return false
		}
	}
	return true
}

// wait lets time pass; false means that the connection has gone meanwhile.
func (p *pair) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.gone:
		return false
	}
}

// reset breaks the connection as a router does that has lost it.
func (p *pair) reset() {
	_ = p.client.SetLinger(0)
	if p.server != nil {
		_ = p.server.SetLinger(0)
	}
	p.close()
}

func (p *pair) close() {
	p.once.Do(func() {
		close(p.gone)
		_ = p.client.Close()
		if p.server != nil {
			_ = p.server.Close()
		}
	})
}
