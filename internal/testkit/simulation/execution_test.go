package simulation

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/comm"
)

func (x *execution) comm(m *message) *comm.Comm {
	if m.second {
		return x.comms[1]
	}
	return x.comms[0]
}

func (x *execution) payload(m *message) []uint64 {
	b := make([]uint64, m.size)
	b[0], b[1], b[2] = uint64(m.id), uint64(m.phase), x.entry
	for i := range b[3:] {
		b[3+i] = mix(x.entry, uint64(m.id*1000+i))
	}
	return b
}

func (x *execution) send(m *message) error {
	b := x.payload(m)
	switch {
	case m.sync && m.blocking:
		defer clear(b) // the memory belongs to the program again
		return comm.Ssend(x.comm(m), b, m.to, m.tag)
	case m.blocking:
		defer clear(b)
		return comm.Send(x.comm(m), b, m.to, m.tag)
	case m.sync:
		x.unsent = append(x.unsent, comm.Issend(x.comm(m), b, m.to, m.tag))
	default:
		x.unsent = append(x.unsent, comm.Isend(x.comm(m), b, m.to, m.tag))
	}
	return nil
}

func (x *execution) post(m *message) error {
	m.buf = make([]uint64, m.size)
	m.recv = comm.Irecv(x.comm(m), m.buf, m.from, m.tag)
	return nil
}

// seen checks a message that the program has received.
func (x *execution) seen(m *message) error {
	if m.buf[0] != uint64(m.id) || m.buf[1] != uint64(m.phase) {
		return fmt.Errorf("message %d of phase %d has arrived, want %d of %d", m.buf[0], m.buf[1], m.id, m.phase)
	}
	return nil
}

func (x *execution) wait(m *message) error {
	if _, err := m.recv.Wait(); err != nil {
		return err
	}
	return x.seen(m)
}

// mostTests bounds the tests of one request. A replica that is far behind its leader
// repeats each answer of the leader. Without the bound it may be so slow that the job
// takes too many steps.
const mostTests = 500

// test tests a receive until it is complete. After many tests it waits for the receive
// instead. Replicas that agree stop testing after the same test.
func (x *execution) test(m *message) error {
	for range mostTests {
		_, done, err := m.recv.Test()
		if err != nil {
			return err
		}
		if done {
			return x.seen(m)
		}
	}
	return x.wait(m)
}

func (x *execution) waitAny(a *anyWait) error {
	var all []*comm.Request
	for _, m := range a.of {
		if m.recv == nil {
			return nil // not all receives of the class are posted
		}
		all = append(all, m.recv)
	}
	_, _, err := comm.WaitAny(all...)
	return err
}

func (x *execution) waitRest(a *anyWait) error {
	for _, m := range a.of {
		if err := x.wait(m); err != nil {
			return err
		}
	}
	return nil
}

func (x *execution) probe(m *message) error {
	st, err := x.comm(m).Probe(m.from, m.tag)
	if err == nil && st.Count != 8*m.size {
		err = fmt.Errorf("a probe shows %d bytes of message %d, want %d", st.Count, m.id, 8*m.size)
	}
	return err
}

func (x *execution) take(m *message) error {
	m.buf = make([]uint64, m.size)
	if _, err := comm.Recv(x.comm(m), m.buf, m.from, m.tag); err != nil {
		return err
	}
	return x.seen(m)
}

func (c *class) all() []*message { return slices.Concat(c.members[0], c.members[1]) }

func (x *execution) postAny(c *class, i int) {
	m := c.all()[0]
	c.bufs[i] = make([]uint64, 200)
	c.recvs[i] = comm.Irecv(x.comm(m), c.bufs[i], comm.AnySource, m.tag)
}

// waitForAny waits for the next receive of a class.
func (x *execution) waitForAny(c *class) error {
	i := c.taken
	if _, err := c.recvs[i].Wait(); err != nil {
		return err
	}
	return x.took(c, c.bufs[i])
}

// takeAny receives the next message of a class. If a probe has shown the message, it is
// received by its source, otherwise from any source.
func (x *execution) takeAny(c *class) error {
	m, b, from := c.all()[0], make([]uint64, 200), comm.AnySource
	if c.shown != nil {
		from, c.shown = c.shown.Source, nil
	}
	if _, err := comm.Recv(x.comm(m), b, from, m.tag); err != nil {
		return err
	}
	return x.took(c, b)
}

// showAny probes for the next message of a class.
func (x *execution) showAny(c *class) error {
	if c.shown != nil {
		return nil
	}
	m := c.all()[0]
	st, err := x.comm(m).Probe(comm.AnySource, m.tag)
	c.shown = &st
	return err
}

// took records a message of a class. The message must belong to the current phase, and
// must not have arrived before.
func (x *execution) took(c *class, b []uint64) error {
	phase := 0
	if c.taken >= len(c.members[0]) {
		phase = 1
	}
	c.taken++
	if b[1] != uint64(phase) {
		return fmt.Errorf("message %d of phase %d has arrived in phase %d", b[0], b[1], phase)
	}
	passed := make(map[int]bool) // sources of which an earlier message has not arrived
	for _, m := range c.members[phase] {
		switch {
		case m.buf != nil:
		case uint64(m.id) != b[0]:
			passed[m.from] = true
		case passed[m.from]:
			return fmt.Errorf("message %d has overtaken another one from rank %d", m.id, m.from)
		default:
			m.buf = b[:m.size]
			return nil
		}
	}
	return fmt.Errorf("message %d has arrived twice, or to the wrong receive", b[0])
}
