package linktest

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/listen"
)

// proxy forwards connections and cuts them after some bytes.
type proxy struct {
	listener net.Listener
	target   string
	pipes    sync.WaitGroup

	mu     sync.Mutex
	budget func(connection int) int64 // bytes until the cut, negative: no cut
	count  int                        // connections so far
	cuts   int                        // connections cut so far
	open   map[net.Conn]struct{}
	hard   *rand.Rand // decides whether a cut ends with RST or FIN
}

// startProxy runs a proxy to target. It calls budget for each connection.
func startProxy(t testing.TB, target string, seed uint64, budget func(connection int) int64) *proxy {
	l, err := listen.Local()
	require.NoError(t, err)
	p := &proxy{listener: l, target: target, budget: budget, open: map[net.Conn]struct{}{}, hard: rand.New(rand.NewPCG(seed, 7))}
	p.pipes.Go(p.accept)
	return p
}

func (p *proxy) dial(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", p.listener.Addr().String())
}

func (p *proxy) accept() {
	for {
		a, err := listen.Accept(p.listener.Accept)
		if err != nil {
			return
		}
		b, err := net.Dial("tcp", p.target)
		if err != nil {
			a.Close()
			continue
		}
		p.mu.Lock()
		left := p.budget(p.count)
		p.count++
		hard := p.hard.IntN(2) == 0
		p.open[a], p.open[b] = struct{}{}, struct{}{}
		p.mu.Unlock()
		cut := sync.OnceFunc(func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.cuts++
		})
		// Both directions spend the same budget.
		var spent sync.Mutex
		allow := func(n int) int {
			spent.Lock()
			defer spent.Unlock()
			if left >= 0 {
				n = int(min(int64(n), left))
				left -= int64(n)
			}
			return n
		}
		end := sync.OnceFunc(func() {
			p.mu.Lock()
			delete(p.open, a)
			delete(p.open, b)
			p.mu.Unlock()
			for _, c := range []net.Conn{a, b} {
				if hard {
					c.(*net.TCPConn).SetLinger(0)
				}
				c.Close()
			}
		})
		p.pipes.Go(func() { p.pipe(a, b, allow, cut, end) })
		p.pipes.Go(func() { p.pipe(b, a, allow, cut, end) })
	}
}

// pipe forwards one direction until it ends or the budget is spent. It forwards the end of
// the direction, too.
func (p *proxy) pipe(to, from net.Conn, allow func(int) int, cut, end func()) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		ok := allow(n)
		if ok > 0 {
			if _, err := to.Write(b[:ok]); err != nil {
				end()
				return
			}
		}
		if ok < n {
			cut()
			end()
			return
		}
		if err != nil {
			to.(*net.TCPConn).CloseWrite()
			return
		}
	}
}

func (p *proxy) cutsSoFar() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	for c := range p.open {
		c.Close()
	}
	p.mu.Unlock()
	p.pipes.Wait()
}
