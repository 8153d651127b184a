package localjob

import (
	"fmt"
	"net"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/inproc"
	"github.com/intrahpc/intra/transport/tcp"
)

// connectAll makes a link between every two processes.
func (l *localJob) connectAll(all []job.Process) (map[job.Process]map[job.Process]transport.Link, error) {
	links := make(map[job.Process]map[job.Process]transport.Link)
	for _, p := range all {
		links[p] = make(map[job.Process]transport.Link)
	}
	for i, p := range all {
		for _, q := range all[i+1:] {
			a, b, err := l.pair()
			if err != nil {
				return nil, fmt.Errorf("link %v and %v: %w", p, q, err)
			}
			links[p][q], links[q][p] = a, b
		}
	}
	return links, nil
}

// pair makes one link.
func (l *localJob) pair() (a, b transport.Link, err error) {
	switch kind := l.spec.Link; kind {
	case "", "inproc":
		var opts []inproc.Option
		if l.want.Capacity > 0 {
			opts = append(opts, inproc.Capacity(l.want.Capacity))
		}
		a, b = inproc.Pair(opts...)
		return a, b, nil
	case job.LinkSHM, job.LinkUnix:
		ring := l.want.Capacity
		if ring == 0 {
			ring = job.DefaultRing
		}
		lower, higher, err := job.LinkFiles(kind, ring)
		if err != nil {
			return nil, nil, err
		}
		if a, err = job.OpenLink(kind, lower, false); err != nil {
			higher.Close()
			return nil, nil, err
		}
		b, err = job.OpenLink(kind, higher, true)
		return a, b, err
	case job.LinkTCP:
		return pairTCP()
	}
	return nil, nil, fmt.Errorf("unknown kind of link %q: want inproc, shm, unix or tcp", l.spec.Link)
}

// pairTCP connects two ends over the loopback.
func pairTCP() (a, b transport.Link, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close()
	type accepted struct {
		conn net.Conn
		err  error
	}
	other := make(chan accepted, 1)
	go func() {
		c, err := listener.Accept()
		other <- accepted{c, err}
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	acc := <-other
	if acc.err != nil {
		conn.Close()
		return nil, nil, acc.err
	}
	return tcp.New(conn), tcp.New(acc.conn), nil
}
