package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

// masters are programs in which ranks get work in the order in which they request it.
var masters = map[string]program{
	"farmOfSections":    farmOfSections,
	"guidedChunks":      guidedChunks,
	"stealing":          stealing,
	"server":            server,
	"bestBound":         bestBound,
	"tokenRing":         tokenRing,
	"wrongAssertion":    wrongAssertion,
	"ownReplica":        ownReplica,
	"orderKeptInMemory": orderKeptInMemory,
}

const (
	tagAsk = 10 + iota
	tagWork
	tagSteal
	tagResult
)

// farmOfSections makes the workers run a section for each piece of work.
func farmOfSections(p *intra.Process, a *arrays) error {
	w := p.World()
	if w.Rank() > 0 {
		for msg := slices.Repeat([]float64{-1}, 1+length); ; {
			if err := comm.Send(w, msg, 0, tagAsk); err != nil {
				return err
			}
			if _, err := comm.Recv(w, msg, 0, tagWork); err != nil || msg[0] < 0 {
				return err
			}
			halve(p, slices.Clone(msg[1:]), msg[1:])
		}
	}
	for next, working := 0, w.Size()-1; working > 0; next++ {
		msg := make([]float64, 1+length)
		st, err := comm.Recv(w, msg, comm.AnySource, tagAsk)
		if err != nil {
			return err
		}
		if i := int(msg[0]); i >= 0 {
			a.y[i] = msg[1+i] + 1
		}
		if msg[0] = float64(next); next >= length {
			msg[0] = -1
			working--
		}
		copy(msg[1:], a.x)
		if err := comm.Send(w, msg, st.Source, tagWork); err != nil {
			return err
		}
	}
	return nil
}

// guidedChunks hands out pieces of decreasing size. Their results have any length and arrive in any
// order.
func guidedChunks(p *intra.Process, a *arrays) error {
	w := p.World()
	if w.Rank() > 0 {
		for {
			if err := comm.Send(w, []float64{}, 0, tagAsk); err != nil {
				return err
			}
			st, err := w.Probe(0, comm.AnyTag)
			if err != nil {
				return err
			}
			work := make([]float64, st.Count/8)
			if _, err := comm.Recv(w, work, 0, st.Tag); err != nil || len(work) == 0 {
				return err
			}
			for i := 1; i < len(work); i++ {
				work[i] = work[i]*0.5 + 1
			}
			if err := comm.Send(w, work, 0, tagResult); err != nil {
				return err
			}
		}
	}
	for given, back, working := 0, 0, w.Size()-1; working > 0 || back < length; {
		st, err := w.Probe(comm.AnySource, comm.AnyTag)
		if err != nil {
			return err
		}
		msg := make([]float64, st.Count/8)
		if _, err := comm.Recv(w, msg, st.Source, st.Tag); err != nil {
			return err
		}
		if st.Tag == tagResult {
			back += copy(a.y[int(msg[0]):], msg[1:])
			continue
		}
		n := min(length-given, 1+(length-given)/4)
		var work []float64
		if n > 0 {
			work = append([]float64{float64(given)}, a.x[given:given+n]...)
		} else {
			working--
		}
		given += n
		if err := comm.Send(w, work, st.Source, tagWork); err != nil {
			return err
		}
	}
	return nil
}

// stealing makes a rank without work ask the others in turn, until a token has passed all
// ranks.
func stealing(p *intra.Process, a *arrays) error {
	w := p.World()
	own := []float64{}
	for i := range length {
		if i%w.Size() <= w.Rank()/2 { // ranks have different amounts of work
			own = append(own, float64(i))
		}
	}
	var done []float64
	refused, victim := 0, (w.Rank()+1)%w.Size()
	asked, finished := false, 0
	for finished < w.Size()-1 || refused < w.Size()-1 {
		for {
			st, found, err := w.Iprobe(comm.AnySource, comm.AnyTag)
			if err != nil {
				return err
			}
			if !found {
				break
			}
			msg := make([]float64, st.Count/8)
			if _, err := comm.Recv(w, msg, st.Source, st.Tag); err != nil {
				return err
			}
			switch st.Tag {
			case tagSteal:
				n := len(own) / 2
				if err := comm.Send(w, own[:n], st.Source, tagWork); err != nil {
					return err
				}
				own = slices.Clone(own[n:])
			case tagWork:
				asked = false
				if own = append(own, msg...); len(msg) == 0 {
					refused++
				}
			case tagResult:
				finished++
			}
		}
		switch {
		case len(own) > 0:
			done, own = append(done, own[0]), own[1:]
		case !asked && refused < w.Size()-1:
			if asked = true; victim == w.Rank() {
				victim = (victim + 1) % w.Size()
			}
			if err := comm.Send(w, []float64{}, victim, tagSteal); err != nil {
				return err
			}
			if victim = (victim + 1) % w.Size(); refused == w.Size()-1 {
				asked = false
			}
		case !asked && refused == w.Size()-1:
			refused++
			for r := range w.Size() {
				if r != w.Rank() {
					if err := comm.Send(w, []float64{}, r, tagResult); err != nil {
						return err
					}
				}
			}
		}
	}
	if err := w.Barrier(); err != nil {
		return err
	}
	mine, sum := make([]float64, length), make([]float64, length)
	for _, i := range done {
		mine[int(i)]++
	}
	if err := comm.Allreduce(w, mine, sum, comm.Sum); err != nil {
		return err
	}
	copy(a.y, sum)
	return nil
}

// server answers requests in rank 0. Each rank has several requests at a time.
func server(p *intra.Process, a *arrays) error {
	w := p.World()
	if w.Rank() == 0 {
		for range length * (w.Size() - 1) {
			var msg [1]float64
			st, err := comm.Recv(w, msg[:], comm.AnySource, comm.AnyTag)
			if err != nil {
				return err
			}
			a.s += msg[0] // small integers, whose sum is exact
			if err := comm.Send(w, []float64{a.x[st.Tag] * msg[0]}, st.Source, st.Tag); err != nil {
				return err
			}
		}
		return nil
	}
	var answers []*comm.Request
	for i := range length {
		answers = append(answers, comm.Irecv(w, a.y[i:i+1], 0, i))
		if err := comm.Send(w, []float64{float64(i % 3)}, 0, i); err != nil {
			return err
		}
	}
	for range answers {
		if _, _, err := comm.WaitAny(answers...); err != nil {
			return err
		}
	}
	return nil
}

// bestBound makes ranks send each other better bounds at any time. The final bound does
// not depend on the times.
func bestBound(p *intra.Process, a *arrays) error {
	w := p.World()
	best, sent, received := 0.0, 0, 0
	receive := func() error {
		var other [1]float64
		_, err := comm.Recv(w, other[:], comm.AnySource, tagWork)
		best = max(best, other[0])
		received++
		return err
	}
	for i, v := range a.y {
		if v <= best {
			continue
		}
		best = v
		for n := range w.Size() - 1 {
			if err := comm.Send(w, []float64{best}, (w.Rank()+1+n)%w.Size(), tagWork); err != nil {
				return err
			}
		}
		sent++
		if _, found, err := w.Iprobe(comm.AnySource, tagWork); err != nil {
			return err
		} else if found && i%2 == 0 {
			if err := receive(); err != nil {
				return err
			}
		}
	}
	counts := make([]int, w.Size())
	if err := comm.Allgather(w, []int{sent}, counts); err != nil {
		return err
	}
	left := -sent - received
	for _, n := range counts {
		left += n
	}
	for range left {
		if err := receive(); err != nil {
			return err
		}
	}
	a.s = best
	return nil
}

// tokenRing makes the holder of a token add to it, while messages from other ranks arrive.
func tokenRing(p *intra.Process, a *arrays) error {
	w := p.World()
	right := (w.Rank() + 1) % w.Size()
	if err := comm.Send(w, []float64{a.x[0]}, 0, tagResult); err != nil {
		return err
	}
	if w.Rank() == 0 {
		if err := comm.Send(w, []float64{0}, right, tagWork); err != nil {
			return err
		}
	}
	from := make([]float64, w.Size())
	results, tokens := 0, 0
	for tokens < 2 || w.Rank() == 0 && results < w.Size() {
		var msg [1]float64
		st, err := comm.Recv(w, msg[:], comm.AnySource, comm.AnyTag)
		if err != nil {
			return err
		}
		if st.Tag == tagResult {
			from[st.Source] = msg[0]
			results++
			continue
		}
		tokens++
		a.y[tokens] += msg[0]
		if last := w.Rank() == 0 && tokens == 2; !last {
			if err := comm.Send(w, []float64{msg[0] + a.x[tokens]}, right, tagWork); err != nil {
				return err
			}
		}
	}
	for _, v := range from {
		a.s += v
	}
	return nil
}

// wrongAssertion asserts that messages depend on no order, although they do.
func wrongAssertion(p *intra.Process, a *arrays) error {
	w := p.World()
	if a.s == 1 {
		if err := w.AssertSendDeterministic(); err != nil {
			return err
		}
	}
	a.s++
	if w.Rank() > 0 {
		for i := range length {
			if err := comm.Send(w, a.x[i:i+1], 0, tagAsk); err != nil {
				return err
			}
			if _, err := comm.Recv(w, a.y[i:i+1], 0, tagWork); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range length * (w.Size() - 1) {
		var msg [1]float64
		st, err := comm.Recv(w, msg[:], comm.AnySource, tagAsk)
		if err != nil {
			return err
		}
		if err := comm.Send(w, []float64{float64(i)}, st.Source, tagWork); err != nil {
			return err
		}
	}
	return nil
}

// ownReplica hands out work by the number of the replica.
func ownReplica(p *intra.Process, a *arrays) error {
	a.s += float64(p.Replica())
	halve(p, a.x, a.y)
	for i := range a.y {
		a.y[i] *= a.s
	}
	halve(p, a.y, a.x)
	return nil
}

// orderKeptInMemory derives the order from data that differs between replicas.
func orderKeptInMemory(p *intra.Process, a *arrays) error {
	info, err := os.Stat(fmt.Sprintf("/proc/%d", os.Getpid()))
	if err != nil {
		return err
	}
	a.s += float64(os.Getpid()) + float64(len(info.Name()))
	for i := range a.x {
		a.x[i] += a.s
	}
	halve(p, a.x, a.y)
	return nil
}
