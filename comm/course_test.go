package comm_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/testkit/sdrtest"
)

// These tests simulate programs that are not send-deterministic: their messages depend on
// the order of arrival and on the results of tests. All replicas of a rank must observe the
// same values, no matter which processes die or join, and also after rollbacks.

// course is a random program. Its state is the number of the iteration and a hash of all
// observations.
type course struct {
	seed       uint64
	iterations int
	w          *comm.Comm
	seen       uint64
	sent       uint64 // hash of all messages sent
}

func (l *course) see(values ...uint64) {
	for _, v := range values {
		l.seen = (l.seen ^ v) * 0x9e3779b97f4a7c15
		l.seen ^= l.seen >> 29
	}
}

// send sends one number.
func (l *course) send(v uint64, to, tag int) error {
	l.sends(v, to, tag)
	return comm.Send(l.w, []uint64{v}, to, tag)
}

// sends adds a message to the hash of all messages sent.
func (l *course) sends(v uint64, to, tag int) {
	for _, x := range []uint64{v, uint64(to), uint64(tag)} {
		l.sent = (l.sent ^ x) * 0x9e3779b97f4a7c15
		l.sent ^= l.sent >> 29
	}
}

// Iteration i uses the tags from tags*i to tags*(i+1)-1.
const tags = 8

func (l *course) plan(iteration int) (*rand.Rand, int) {
	return rand.New(rand.NewPCG(l.seed, uint64(iteration))), tags * iteration
}

// receive receives one number from the given rank, or from any rank, and returns its
// source.
func (l *course) receive(src, tag int) (uint64, int, error) {
	var v [1]uint64
	st, err := comm.Recv(l.w, v[:], src, tag)
	return v[0], st.Source, err
}

// farm distributes tasks: rank 0 assigns the next task to the first rank that asks.
func (l *course) farm(iteration int) error {
	plan, tag := l.plan(iteration)
	tasks := uint64(plan.IntN(12))
	const stop = ^uint64(0)
	if l.w.Rank() > 0 {
		result := uint64(0)
		for {
			if err := l.send(result, 0, tag); err != nil {
				return err
			}
			task, _, err := l.receive(0, tag+1)
			if err != nil || task == stop {
				return err
			}
			l.see(task)
			result = task + 1
		}
	}
	done := uint64(0)
	for next, working := uint64(0), l.w.Size()-1; working > 0; {
		src := comm.AnySource
		if plan.IntN(3) == 0 {
			st, err := l.w.Probe(comm.AnySource, tag)
			if err != nil {
				return err
			}
			src = st.Source
		}
		result, from, err := l.receive(src, tag)
		if err != nil {
			return err
		}
		done += result
		l.see(result, uint64(from))
		task := next
		if next == tasks {
			task = stop
			working--
		} else {
			next++
		}
		if err := l.send(task, from, tag+1); err != nil {
			return err
		}
	}
	if want := tasks * (tasks + 1) / 2; l.w.Size() > 1 && done != want {
		return fmt.Errorf("the results of %d tasks have the sum %d, want %d", tasks, done, want)
	}
	return nil
}

// arrivals sums messages in order of arrival. It mixes receives from one source with
// receives from any source.
func (l *course) arrivals(iteration int) error {
	plan, tag := l.plan(iteration)
	n, me := l.w.Size(), l.w.Rank()
	var sends, receives []*comm.Request
	var bufs [][]uint64
	sum, want := uint64(0), uint64(0)
	// pass makes one rank send a message, and another rank post a receive that may match
	// it.
	pass := func(from, to, size, src, tag int, value uint64) {
		value += uint64(iteration) << 20
		if to == me {
			want += value
			buf := make([]uint64, 300)
			bufs = append(bufs, buf)
			receives = append(receives, comm.Irecv(l.w, buf, src, tag))
		}
		if from == me {
			l.sends(value, to, tag)
			sends = append(sends, comm.Isend(l.w, slices.Repeat([]uint64{value}, size), to, tag))
		}
	}
	for i := range plan.IntN(6 * n) {
		from, to, size, kind := plan.IntN(n), plan.IntN(n), []int{1, 40, 300}[plan.IntN(3)], plan.IntN(2)
		src := comm.AnySource
		if kind == 1 {
			src = from
		}
		pass(from, to, size, src, tag+kind, uint64(i))
	}
	// A receive from any source is followed by one from a source that may also match the
	// first, and then by another one from any source.
	a, b, to := plan.IntN(n), plan.IntN(n), plan.IntN(n)
	pass(a, to, 40, comm.AnySource, tag+2, 1000)
	pass(a, to, 300, a, tag+2, 1001)
	pass(b, to, 1, comm.AnySource, tag+2, 1002)
	for k := range receives {
		st, err := receives[k].Wait()
		if err != nil {
			return err
		}
		l.see(bufs[k][0], uint64(st.Source), uint64(st.Count))
		sum += bufs[k][0]
	}
	if sum != want {
		return fmt.Errorf("the messages have the sum %d, want %d", sum, want)
	}
	if err := comm.WaitAll(sends...); err != nil {
		return err
	}
	// The other ranks get the order that rank 0 has observed, so their state depends on it.
	word := []uint64{l.seen}
	if err := comm.Bcast(l.w, word, 0); err != nil {
		return err
	}
	l.see(word[0])
	return nil
}

// poll tests requests until all are complete, and cancels one. Its next message depends on
// the number of tests.
func (l *course) poll(iteration int) error {
	plan, tag := l.plan(iteration)
	n, me := l.w.Size(), l.w.Rank()
	how, sendsLate := plan.IntN(7), plan.IntN(2) == 0
	var reqs []*comm.Request
	bufs := make([][1]uint64, n)
	for r := range n {
		reqs = append(reqs, comm.Irecv(l.w, bufs[r][:], comm.AnySource, tag))
	}
	var word [1]uint64
	last := comm.Irecv(l.w, word[:], comm.AnySource, tag+5)
	var lastSend *comm.Request
	sendLast := func() {
		l.sends(uint64(me)+7, (me+1)%n, tag+5)
		lastSend = comm.Isend(l.w, []uint64{uint64(me) + 7}, (me+1)%n, tag+5)
	}
	if !sendsLate {
		sendLast()
	}
	for r := range n {
		l.sends(uint64(me)+1, r, tag)
		reqs = append(reqs, comm.Isend(l.w, []uint64{uint64(me) + 1}, r, tag))
	}
	left := len(reqs)
	report := func(i int, st comm.Status) {
		left--
		l.see(uint64(i), uint64(st.Source), uint64(left))
	}
	for tests := uint64(0); left > 0; tests++ {
		l.see(tests)
		switch how {
		case 0:
			i, st, err := comm.WaitAny(reqs...)
			if err != nil {
				return err
			}
			report(i, st)
			reqs[i] = nil
		case 1, 2:
			wait := comm.WaitSome
			if how == 2 {
				wait = comm.TestSome
			}
			done, err := wait(reqs...)
			if err != nil {
				return err
			}
			for _, i := range done {
				report(i, comm.Status{})
				reqs[i] = nil
			}
		case 3:
			i, st, err := comm.TestAny(reqs...)
			if err != nil {
				return err
			}
			if i >= 0 {
				report(i, st)
				reqs[i] = nil
			}
		case 4:
			done, err := comm.TestAll(reqs...)
			if err != nil {
				return err
			}
			if done {
				left = 0
			}
		case 5:
			for i, r := range reqs {
				if r == nil {
					continue
				}
				st, done, err := r.Test()
				if err != nil {
					return err
				}
				if done {
					report(i, st)
					reqs[i] = nil
				}
			}
		case 6:
			if err := comm.WaitAll(reqs...); err != nil {
				return err
			}
			left = 0
		}
	}
	if sendsLate {
		sendLast()
	}
	// The message may have arrived already. Then it is too late to cancel its receive.
	last.Cancel()
	_, err := last.Wait()
	if errors.Is(err, comm.ErrCancelled) {
		l.see(1)
		word[0], _, err = l.receive(comm.AnySource, tag+5)
	}
	if err == nil {
		_, err = lastSend.Wait()
	}
	if err != nil {
		return fmt.Errorf("the last message: %w", err)
	}
	l.see(word[0])
	sum := uint64(0)
	for _, b := range bufs {
		sum += b[0]
		l.see(b[0])
	}
	if want := uint64(n * (n + 1) / 2); sum != want {
		return fmt.Errorf("the ranks have the sum %d, want %d", sum, want)
	}
	return l.ring(tag + 6)
}

// ring sends the hash to the next rank.
func (l *course) ring(tag int) error {
	n, me := l.w.Size(), l.w.Rank()
	var got [1]uint64
	l.sends(l.seen, (me+1)%n, tag)
	_, err := comm.Sendrecv(l.w, []uint64{l.seen}, (me+1)%n, tag, got[:], (me-1+n)%n, tag)
	l.see(got[0])
	return err
}

// tokens passes tokens between ranks. A rank chooses the next rank of a token by its
// observations, so the paths depend on the order of messages. Rank 0 counts the tokens that
// have reached their end, and then stops all ranks.
func (l *course) tokens(iteration int) error {
	plan, tag := l.plan(iteration)
	n, me := l.w.Size(), l.w.Rank()
	each := plan.IntN(3)
	const ended = 100
	send := func(hops uint64, to int) error { return l.send(hops, to, tag) }
	for range each {
		l.see(1)
		if err := send(3, int(l.seen%uint64(n))); err != nil {
			return err
		}
	}
	left := each * n
	polls := uint64(0)
	for me > 0 || left > 0 {
		st, found, err := l.w.Iprobe(comm.AnySource, tag+int(polls%2))
		if err != nil {
			return err
		}
		if !found {
			polls++
			continue
		}
		hops, from, err := l.receive(st.Source, st.Tag)
		if err != nil {
			return err
		}
		l.see(hops, uint64(from), polls)
		switch {
		case st.Tag == tag+1:
			return nil
		case hops == ended:
			left--
		case hops > 0:
			err = send(hops-1, int(l.seen%uint64(n)))
		default:
			err = send(ended, 0)
		}
		if err != nil {
			return err
		}
	}
	for r := 1; r < n; r++ {
		if err := l.send(0, r, tag+1); err != nil {
			return err
		}
	}
	return nil
}

// The tags of the messages of steal.
const (
	wants    = iota // a rank without tasks asks another one
	gives           // the answer: a task, or none
	ends            // to rank 0: a task is done
	stops           // from rank 0: all tasks are done
	idles           // to rank 0: the sender no longer waits for an answer
	leaves          // from rank 0: no rank asks any longer
	stealing        // the number of these tags
)

// steal distributes tasks by work stealing. Each rank has some tasks at first. A rank
// without tasks asks a rank that it chooses by its observations. Rank 0 counts the tasks
// that are done, and ends the iteration.
func (l *course) steal(iteration int) error {
	plan, tag := l.plan(iteration)
	n, me := l.w.Size(), l.w.Rank()
	const none = ^uint64(0)
	left, idle, asks, stopped := 0, 0, false, false
	var own []uint64
	for r := range n {
		k := plan.IntN(5)
		left += k
		for i := range k {
			if r == me {
				own = append(own, uint64(100*r+i))
			}
		}
	}
	if me > 0 {
		left = 1 // only rank 0 counts
	}
	for polls := 0; ; polls++ {
		if me == 0 && left == 0 && !stopped {
			stopped = true
			for r := 1; r < n; r++ {
				if err := l.send(0, r, tag+stops); err != nil {
					return err
				}
			}
		}
		if stopped && !asks && me == 0 && idle == n-1 {
			for r := 1; r < n; r++ {
				if err := l.send(0, r, tag+leaves); err != nil {
					return err
				}
			}
			return nil
		}
		st, found, err := l.w.Iprobe(comm.AnySource, tag+polls%stealing)
		if err != nil {
			return err
		}
		if found {
			v, from, err := l.receive(st.Source, st.Tag)
			if err != nil {
				return err
			}
			l.see(v, uint64(from), uint64(polls))
			switch st.Tag - tag {
			case wants:
				v = none
				if len(own) > 0 {
					v, own = own[0], own[1:]
				}
				err = l.send(v, from, tag+gives)
			case gives:
				if asks = false; v != none {
					own = append(own, v)
				}
				if stopped && me > 0 {
					err = l.send(0, 0, tag+idles)
				}
			case ends:
				left--
			case stops:
				if stopped = true; !asks {
					err = l.send(0, 0, tag+idles)
				}
			case idles:
				idle++
			case leaves:
				return nil
			}
			if err != nil {
				return err
			}
			continue
		}
		switch {
		case stopped || asks:
		case len(own) > 0:
			own = own[1:]
			if me == 0 {
				left--
			} else if err := l.send(0, 0, tag+ends); err != nil {
				return err
			}
		case n > 1:
			asks = true
			if err := l.send(0, (me+1+int(l.seen%uint64(n-1)))%n, tag+wants); err != nil {
				return err
			}
		}
	}
}

// run is the program of one process.
func (l *course) run(p *sdrtest.Process) (uint64, error) {
	begin := 0
	if s := p.State(); s != nil {
		begin, l.seen, l.sent = int(binary.LittleEndian.Uint64(s)), binary.LittleEndian.Uint64(s[8:]), binary.LittleEndian.Uint64(s[16:])
	}
	var err error
	if l.w, err = comm.World(p.Engine); err != nil {
		return 0, err
	}
	for i := begin; i < l.iterations; i++ {
		err := p.SafePoint(func() []byte {
			return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(i)), l.seen), l.sent)
		})
		if err == nil {
			err = []func(int) error{l.farm, l.arrivals, l.poll, l.tokens, l.steal}[(l.seed+uint64(i))%5](i)
		}
		if err == nil && i%2 == 0 {
			err = l.w.Barrier()
		}
		if err != nil {
			return 0, fmt.Errorf("iteration %d: %w", i, err)
		}
	}
	return l.seen, l.ring(tags*l.iterations + 7)
}
