package commtest

import (
	"fmt"

	"github.com/intrahpc/intra/comm"
)

// The ways to receive a message of a chain. A receive from any source knows only the tag,
// which is that of the chain. So only causal order determines to which visit its message
// belongs.
const (
	wildRecv   = iota // a receive from any source
	wildIrecv         // a nonblocking receive from any source
	wildProbe         // a probe of any source; the next message is sent before the receive
	wildPosted        // a receive from any source that was begun before the chain
	posted            // a receive from the previous rank that was begun before the chain
	postedAny         // like posted, but completed by WaitAny among all remaining receives
	postedSome        // like posted, but completed by WaitSome, which must report no other one
	postedTest        // like posted, but completed by repeated calls of Test
	probed            // a probe of the previous rank; the next message is sent before the receive
	polled            // like probed, but with Iprobe
	ways
)

// visit is the turn of one rank in a chain.
type visit struct {
	from, rank int
	way        int
	collective bool // the sum begins here
	req        *comm.Request
	buf        []uint32
}

// chain passes a message from rank to rank along a random path, which may visit a rank
// several times. All its messages depend on each other, and every rank must receive them in
// the order of the path. The ranks also compute a sum, which each of them begins somewhere
// on the path.
func chain(w *World) error {
	n, me := w.Comm.Size(), w.Comm.Rank()
	if n < 2 {
		return nil
	}
	size, tags := w.size(), w.Plan.IntN(1<<20)*16 // different from the tags of all other chains, because no barrier separates them
	path := make([]visit, 2+w.Plan.IntN(12))
	for i := range path {
		path[i] = visit{rank: w.Plan.IntN(n), way: w.Plan.IntN(ways), collective: w.Plan.IntN(4) == 0}
		if i > 0 && path[i].rank == path[i-1].rank {
			path[i].rank = (path[i].rank + 1) % n
		}
		if i > 0 {
			path[i].from = path[i-1].rank
		}
	}
	c := &chainRun{World: w, tags: tags, size: size, path: path}
	if w.Plan.IntN(2) == 0 {
		c.sum = []uint64{uint64(me + 1)}
	}
	for i := 1; i < len(path); i++ {
		if v := &path[i]; v.rank == me && v.way >= wildPosted && v.way <= postedTest {
			v.buf = make([]uint32, size+2)
			src := v.from
			if v.way == wildPosted {
				src = comm.AnySource
			}
			v.req = comm.Irecv(w.Comm, v.buf, src, tags+v.way)
		}
	}
	for i := range path {
		if path[i].rank != me {
			continue
		}
		if err := c.visit(i); err != nil {
			return fmt.Errorf("visit %d of %d, way %d: %w", i, len(path), path[i].way, err)
		}
	}
	c.begin()
	if err := comm.WaitAll(c.sends...); err != nil {
		return err
	}
	if c.all != nil {
		if _, err := c.all.Wait(); err != nil {
			return err
		}
		w.Observe(c.sum)
	}
	return nil
}

// chainRun is a chain at one rank.
type chainRun struct {
	*World
	tags, size int
	path       []visit
	sends      []*comm.Request
	sum        []uint64 // nil: none
	all        *comm.Request
}

// begin begins the sum, only once.
func (c *chainRun) begin() {
	if c.sum != nil && c.all == nil {
		c.all = comm.Iallreduce(c.Comm, nil, c.sum, comm.Sum)
	}
}

// visit receives the message for visit i and sends the next one.
func (c *chainRun) visit(i int) error {
	v := &c.path[i]
	if v.collective {
		c.begin()
	}
	if i == 0 {
		c.next(i)
		return nil
	}
	src, tag := v.from, c.tags+v.way
	if v.way <= wildProbe {
		src = comm.AnySource
	}
	if v.buf == nil {
		v.buf = make([]uint32, c.size+2)
	}
	st, ahead, err := comm.Status{}, false, error(nil) // ahead: the next message was already sent
	switch v.way {
	case wildRecv:
		st, err = comm.Recv(c.Comm, v.buf, src, tag)
	case wildIrecv:
		r := comm.Irecv(c.Comm, v.buf, src, tag)
		st, err = r.Wait()
	case wildPosted, posted:
		st, err = v.req.Wait()
	case postedAny, postedSome:
		st, err = c.await(i)
	case postedTest:
		done := false
		for range mostPolls {
			if st, done, err = v.req.Test(); done || err != nil {
				break
			}
		}
		if !done && err == nil {
			st, err = v.req.Wait()
		}
	case wildProbe, probed, polled:
		var seen comm.Status
		if v.way == polled {
			seen, err = poll(c.Comm, src, tag)
		} else {
			seen, err = c.Comm.Probe(src, tag)
		}
		if err != nil {
			return err
		}
		if seen.Source != v.from {
			return fmt.Errorf("probe shows a message of rank %d, want rank %d", seen.Source, v.from)
		}
		c.next(i)
		ahead = true
		st, err = comm.Recv(c.Comm, v.buf, seen.Source, tag)
	}
	if err != nil {
		return err
	}
	if st.Source != v.from {
		return fmt.Errorf("got a message of rank %d, want rank %d", st.Source, v.from)
	}
	if err := check(v.buf, v.from, i); err != nil {
		return err
	}
	if ahead {
		return nil
	}
	if err := c.early(i); err != nil {
		return err
	}
	c.next(i)
	return nil
}

// early reports an error if a message for a later visit is visible although a message on
// which it depends has not been sent yet.
func (c *chainRun) early(i int) error {
	for k := i + 1; k < len(c.path); k++ {
		v := &c.path[k]
		if v.rank != c.Comm.Rank() {
			continue
		}
		shows, err := false, error(nil)
		if v.req != nil {
			_, shows, err = v.req.Test()
		} else {
			_, shows, err = c.Comm.Iprobe(v.from, c.tags+v.way)
		}
		if err == nil && shows {
			err = fmt.Errorf("the message for visit %d is here", k)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// next sends the message that follows visit i.
func (c *chainRun) next(i int) {
	if i+1 < len(c.path) {
		v := &c.path[i+1]
		c.sends = append(c.sends, comm.Isend(c.Comm, payload(c.Comm.Rank(), i+1, c.size), v.rank, c.tags+v.way))
	}
}

// await waits for any of the receives that were begun before the chain. Only that of visit
// i can be complete.
func (c *chainRun) await(i int) (comm.Status, error) {
	var reqs []*comm.Request
	var visits []int
	for k := len(c.path) - 1; k > 0; k-- { // the last visit first
		if r := c.path[k].req; r != nil && k >= i {
			reqs, visits = append(reqs, r), append(visits, k)
		}
	}
	if c.path[i].way == postedSome {
		got, err := comm.WaitSome(reqs...)
		if err == nil && (len(got) != 1 || visits[got[0]] != i) {
			err = fmt.Errorf("WaitSome reports %v of visits %v", got, visits)
		}
		if err != nil {
			return comm.Status{}, err
		}
		return c.path[i].req.Wait()
	}
	k, st, err := comm.WaitAny(reqs...)
	if err == nil && visits[k] != i {
		err = fmt.Errorf("WaitAny reports visit %d", visits[k])
	}
	return st, err
}
