package commtest

import (
	"fmt"

	"github.com/intrahpc/intra/comm"
)

// ring shifts a message around the ring of ranks with a plain send and receive.
func ring(w *World) error {
	n, r, size := w.Comm.Size(), w.Comm.Rank(), w.size()
	req := comm.Isend(w.Comm, payload(r, 0, size), (r+1)%n, 3)
	buf := make([]uint32, size+2)
	st, err := comm.Recv(w.Comm, buf, (r-1+n)%n, 3)
	if err != nil {
		return err
	}
	w.Observe(st, buf)
	if _, err := req.Wait(); err != nil {
		return err
	}
	return check(buf, (r-1+n)%n, 0)
}

// scatterShot sends random messages between random ranks. Receivers receive them by source,
// from any source, or one by one with WaitAny.
func scatterShot(w *World) error {
	type msg struct{ src, dst, i, size int }
	n, me := w.Comm.Size(), w.Comm.Rank()
	count := make(map[[2]int]int)
	var msgs []msg
	for range 1 + w.Plan.IntN(12) {
		m := msg{src: w.Plan.IntN(n), dst: w.Plan.IntN(n), size: w.size()}
		m.i = count[[2]int{m.src, m.dst}]
		count[[2]int{m.src, m.dst}]++
		msgs = append(msgs, m)
	}
	wild, any, sync := w.Plan.IntN(2) == 0, w.Plan.IntN(2) == 0, w.Plan.IntN(3) == 0
	var sends, recvs []*comm.Request
	var bufs [][]uint32
	for _, m := range msgs {
		if m.dst == me {
			buf, src := make([]uint32, 702), m.src
			if wild {
				src = comm.AnySource
			}
			bufs = append(bufs, buf)
			recvs = append(recvs, comm.Irecv(w.Comm, buf, src, comm.AnyTag))
		}
		if m.src == me {
			p := payload(m.src, m.i, m.size)
			if sync {
				sends = append(sends, comm.Issend(w.Comm, p, m.dst, 9))
			} else {
				sends = append(sends, comm.Isend(w.Comm, p, m.dst, 9))
			}
		}
	}
	for range recvs {
		if !any {
			break
		}
		if _, _, err := comm.WaitAny(recvs...); err != nil {
			return err
		}
	}
	seen := make([]int, n)
	for i, r := range recvs { // each source's messages are in posting order
		st, err := r.Wait()
		if err != nil {
			return err
		}
		if err := check(bufs[i][:st.Count], st.Source, seen[st.Source]); err != nil {
			return fmt.Errorf("wild %v: %w", wild, err)
		}
		seen[st.Source]++
	}
	w.Observe(seen)
	if err := comm.WaitAll(sends...); err != nil {
		return err
	}
	return w.Comm.Barrier() // so that the next step of a rank sends nothing that matches these receives from any source
}

// fanIn collects messages at one rank, by wildcard receives, by Probe, or by
// polling with Iprobe.
func fanIn(w *World) error {
	n, me, root := w.Comm.Size(), w.Comm.Rank(), w.Plan.IntN(w.Comm.Size())
	each, how, size := 1+w.Plan.IntN(4), w.Plan.IntN(3), w.size()
	if me != root {
		for i := range each {
			if err := comm.Send(w.Comm, payload(me, i, size+me), root, i); err != nil {
				return err
			}
		}
		return w.Comm.Barrier()
	}
	seen := make([]int, n)
	for range (n - 1) * each {
		src, tag, room := comm.AnySource, comm.AnyTag, size+n+2
		switch how {
		case 1:
			st, err := w.Comm.Probe(src, tag)
			if err != nil {
				return err
			}
			src, tag, room = st.Source, st.Tag, st.Count/4
		case 2:
			st, err := poll(w.Comm, src, tag)
			if err != nil {
				return err
			}
			src, tag, room = st.Source, st.Tag, st.Count/4
		}
		buf := make([]uint32, room)
		st, err := comm.Recv(w.Comm, buf, src, tag)
		if err != nil {
			return err
		}
		if st.Tag != seen[st.Source] || (src >= 0 && (st.Source != src || st.Count != room)) {
			return fmt.Errorf("status %+v after %v", st, seen)
		}
		if err := check(buf[:st.Count], st.Source, st.Tag); err != nil {
			return err
		}
		seen[st.Source]++
	}
	w.Observe(seen)
	return w.Comm.Barrier()
}

// mostPolls bounds the tests or probes for one message by a program, which then waits. A
// replica that lags behind its leader repeats each of them, and a simulation may run that
// replica slowly.
const mostPolls = 500

// poll probes a message with Iprobe, and after many attempts with Probe.
func poll(c *comm.Comm, src, tag int) (comm.Status, error) {
	for range mostPolls {
		if st, here, err := c.Iprobe(src, tag); here || err != nil {
			return st, err
		}
	}
	return c.Probe(src, tag)
}

// flood sends more messages than the receiver has room for. The receiver receives the last
// message first.
func flood(w *World) error {
	n, me := w.Comm.Size(), w.Comm.Rank()
	from, to := w.Plan.IntN(n), w.Plan.IntN(n)
	const many = 40
	if me == from {
		var reqs []*comm.Request
		for i := range many {
			reqs = append(reqs, comm.Isend(w.Comm, payload(me, i, i%9*10), to, i))
		}
		if me != to {
			return comm.WaitAll(reqs...)
		}
		defer comm.WaitAll(reqs...)
	}
	if me == to {
		buf := make([]uint32, 100)
		for i := many - 1; i >= 0; i-- {
			st, err := comm.Recv(w.Comm, buf, from, i)
			if err != nil {
				return err
			}
			if err := check(buf[:st.Count], from, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// isendSsend tests a valid program: the second message can be received before the first.
func isendSsend(w *World) error {
	n, me, size := w.Comm.Size(), w.Comm.Rank(), w.size()
	if n < 2 || me > 1 {
		return nil
	}
	buf := make([]uint32, size+2)
	if me == 0 {
		first := comm.Issend(w.Comm, payload(0, 0, size), 1, 1)
		if err := comm.Ssend(w.Comm, payload(0, 1, size), 1, 2); err != nil {
			return err
		}
		if _, err := comm.Recv(w.Comm, buf, 1, 3); err != nil {
			return err
		}
		_, err := first.Wait()
		return err
	}
	if _, err := comm.Recv(w.Comm, buf, 0, 2); err != nil {
		return err
	}
	if err := comm.Send(w.Comm, payload(1, 0, size), 0, 3); err != nil {
		return err
	}
	_, err := comm.Recv(w.Comm, buf, 0, 1)
	w.Observe(buf)
	return err
}

// eachWay makes neighbours send to each other before they wait for their receives.
func eachWay(w *World) error {
	n, me, size := w.Comm.Size(), w.Comm.Rank(), w.size()
	peer := me ^ 1
	if peer >= n {
		return nil
	}
	buf := make([]uint32, size+2)
	r := comm.Irecv(w.Comm, buf, peer, 5)
	if err := comm.Send(w.Comm, payload(me, 1, size), peer, 5); err != nil {
		return err
	}
	if _, err := r.Wait(); err != nil {
		return err
	}
	w.Observe(buf)
	return check(buf, peer, 1)
}
