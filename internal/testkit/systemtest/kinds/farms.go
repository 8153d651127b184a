package main

import (
	"errors"
	"math"
	"time"
	"unsafe"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

// farms are programs in which rank 0 answers the other ranks, each program in another way.
// Those of the second part depend on data that differs between replicas.
var farms = map[string]program{
	"waitSome": answers(func(w *comm.Comm, serve func(from int) error) error {
		return serveRequests(w, serve, comm.WaitSome)
	}),
	"testSome": answers(func(w *comm.Comm, serve func(from int) error) error {
		return serveRequests(w, serve, comm.TestSome)
	}),
	"testAny": answers(func(w *comm.Comm, serve func(from int) error) error {
		return serveRequests(w, serve, func(reqs ...*comm.Request) ([]int, error) {
			i, _, err := comm.TestAny(reqs...)
			if err != nil || i < 0 {
				return nil, err
			}
			return []int{i}, nil
		})
	}),
	"testEach": answers(func(w *comm.Comm, serve func(from int) error) error {
		return serveRequests(w, serve, func(reqs ...*comm.Request) (done []int, err error) {
			for i, r := range reqs {
				if r == nil {
					continue
				}
				_, ok, err := r.Test()
				if err != nil {
					return nil, err
				}
				if ok {
					done = append(done, i)
				}
			}
			return done, nil
		})
	}),
	"probes": answers(func(w *comm.Comm, serve func(from int) error) error {
		for range questions * (w.Size() - 1) {
			st, err := w.Probe(comm.AnySource, tagAsk)
			if err != nil {
				return err
			}
			if _, err := comm.Recv(w, make([]float64, 1), st.Source, tagAsk); err != nil {
				return err
			}
			if err := serve(st.Source); err != nil {
				return err
			}
		}
		return nil
	}),
	"polls": answers(func(w *comm.Comm, serve func(from int) error) error {
		for left := questions * (w.Size() - 1); left > 0; {
			st, found, err := w.Iprobe(comm.AnySource, tagAsk)
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			if _, err := comm.Recv(w, make([]float64, 1), st.Source, tagAsk); err != nil {
				return err
			}
			if err := serve(st.Source); err != nil {
				return err
			}
			left--
		}
		return nil
	}),
	"onDuplicate": func(p *intra.Process, a *arrays) error {
		d, err := p.World().Dup()
		if err != nil {
			return err
		}
		if err := farm(d, a, serveAny(d)); err != nil {
			return err
		}
		return d.Free()
	},
	"twoMasters": func(p *intra.Process, a *arrays) error {
		w := p.World()
		part, err := w.Split(w.Rank()%2, w.Rank())
		if err != nil || part.Size() == 1 {
			return err
		}
		return farm(part, a, serveAny(part))
	},
	"agreedOrder":  agreedOrder,
	"cancelsLast":  cancelsLast,
	"synchronous":  synchronous,
	"shortestPath": shortestPath,

	// These programs depend on data that differs between replicas.
	"clockDecides":   servesBy(func(int) float64 { return float64(time.Now().UnixNano()) }),
	"addressDecides": servesBy(func(int) float64 { return float64(uintptr(unsafe.Pointer(new([1 << 16]byte)))) }),
	"mapDecides": servesBy(func(int) float64 {
		sum := 0.0
		for range 20 {
			for k := range map[int]bool{1: true, 2: true, 3: true} {
				sum = sum*2 + float64(k)
				break
			}
		}
		return sum
	}),
	"selectDecides": servesBy(func(int) float64 {
		c, number := make(chan bool, 64), 0.0
		for range 64 {
			c <- true
		}
		d := make(chan bool)
		close(d)
		for range 40 {
			number *= 2
			select {
			case <-c:
			case <-d:
				number++
			}
		}
		return number
	}),
	"moreMessages":    moreMessages,
	"earlierMessage":  earlierMessage,
	"fewerMessages":   fewerMessages,
	"assertedTest":    assertedTest,
	"assertedWaitAny": assertedWaitAny,
}

// answers is a program whose rank 0 answers questions of the other ranks, in the order in
// which serveAll calls serve.
func answers(serveAll func(w *comm.Comm, serve func(from int) error) error) program {
	return func(p *intra.Process, a *arrays) error { return farm(p.World(), a, serveAll) }
}

// questions is the number of messages of each rank that rank 0 answers.
const questions = 20

// farm lets the other ranks of w ask questions about elements of x. Rank 0 answers them, in
// the order in which serveAll calls serve.
func farm(w *comm.Comm, a *arrays, serveAll func(w *comm.Comm, serve func(from int) error) error) error {
	if w.Rank() > 0 {
		for i := range questions {
			if err := comm.Send(w, a.x[i:i+1], 0, tagAsk); err != nil {
				return err
			}
			var answer [1]float64
			if _, err := comm.Recv(w, answer[:], 0, tagWork); err != nil {
				return err
			}
			a.y[i] += answer[0]
		}
		return nil
	}
	next := make([]int, w.Size())
	return serveAll(w, func(from int) error {
		i := next[from]
		next[from]++
		a.n[i]++
		return comm.Send(w, []float64{a.x[i] * float64(from)}, from, tagWork)
	})
}

func serveAny(w *comm.Comm) func(*comm.Comm, func(int) error) error {
	return func(_ *comm.Comm, serve func(from int) error) error {
		for range questions * (w.Size() - 1) {
			st, err := comm.Recv(w, make([]float64, 1), comm.AnySource, tagAsk)
			if err != nil {
				return err
			}
			if err := serve(st.Source); err != nil {
				return err
			}
		}
		return nil
	}
}

// serveRequests posts a receive from each rank, and serves a rank when its receive is complete. The
// function some returns the indexes of the complete receives, like comm.WaitSome.
func serveRequests(w *comm.Comm, serve func(from int) error, some func(...*comm.Request) ([]int, error)) error {
	reqs := make([]*comm.Request, w.Size())
	received, buf := make([]int, w.Size()), make([][1]float64, w.Size())
	post := func(r int) {
		reqs[r] = nil
		if received[r] < questions {
			reqs[r] = comm.Irecv(w, buf[r][:], r, tagAsk)
		}
	}
	for r := 1; r < w.Size(); r++ {
		post(r)
	}
	for left := questions * (w.Size() - 1); left > 0; {
		done, err := some(reqs...)
		if err != nil {
			return err
		}
		for _, r := range done {
			received[r]++
			left--
			if post(r); err == nil {
				err = serve(r)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// agreedOrder sums messages in rank 0 in order of arrival, so that the sum differs between
// runs. All ranks get the same sum.
func agreedOrder(p *intra.Process, a *arrays) error {
	w := p.World()
	hash := []float64{1}
	if w.Rank() > 0 {
		for i := range questions {
			if err := comm.Send(w, a.x[i:i+1], 0, tagAsk); err != nil {
				return err
			}
		}
	}
	for range questions * (w.Size() - 1) * max(0, 1-w.Rank()) {
		var v [1]float64
		if _, err := comm.Recv(w, v[:], comm.AnySource, tagAsk); err != nil {
			return err
		}
		hash[0] = math.Mod(hash[0]*1.37+v[0], 100)
	}
	if err := comm.Bcast(w, hash, 0); err != nil {
		return err
	}
	all := make([]float64, w.Size())
	if err := comm.Allgather(w, hash, all); err != nil {
		return err
	}
	for _, v := range all {
		if v != all[0] {
			return errors.New("ranks have got different sums")
		}
	}
	return nil
}

// cancelsLast always has a receive posted, and cancels the last one.
func cancelsLast(p *intra.Process, a *arrays) error {
	w := p.World()
	if w.Rank() > 0 {
		return comm.Send(w, a.x[:1], 0, tagAsk)
	}
	var buf [1]float64
	next := comm.Irecv(w, buf[:], comm.AnySource, tagAsk)
	for range w.Size() - 1 {
		st, err := next.Wait()
		if err != nil {
			return err
		}
		a.y[st.Source] = buf[0]
		next = comm.Irecv(w, buf[:], comm.AnySource, tagAsk)
	}
	next.Cancel()
	if _, err := next.Wait(); !errors.Is(err, comm.ErrCancelled) {
		return errors.Join(err, errors.New("a receive was not cancelled"))
	}
	return nil
}

// synchronous makes senders wait until rank 0 has chosen their message.
func synchronous(p *intra.Process, a *arrays) error {
	w := p.World()
	if w.Rank() > 0 {
		for i := range questions {
			if err := comm.Ssend(w, a.x[i:i+1], 0, tagAsk+i); err != nil {
				return err
			}
		}
		return nil
	}
	for range questions * (w.Size() - 1) {
		var v [1]float64
		st, err := comm.Recv(w, v[:], comm.AnySource, comm.AnyTag)
		if err != nil {
			return err
		}
		a.y[st.Tag-tagAsk] = max(a.y[st.Tag-tagAsk], v[0])
	}
	return nil
}

// shortestPath computes distances: ranks send each other shorter ones until no message is
// in flight. Rank 0 detects that by counting messages.
func shortestPath(p *intra.Process, a *arrays) error {
	w := p.World()
	n, me := w.Size(), w.Rank()
	at := func(node int) float64 { return a.x[node] } // the cost of a step to a node
	dist := make([]float64, length)
	for i := range dist {
		dist[i] = math.Inf(1)
	}
	sent, received := 0, 0
	var relax func(node int, d float64) error
	relax = func(node int, d float64) error {
		if node%n != me {
			sent++
			return comm.Send(w, []float64{float64(node), d}, node%n, tagWork)
		}
		if d >= dist[node] {
			return nil
		}
		dist[node] = d
		for _, to := range []int{node + 1, node + 5} {
			if to < length {
				if err := relax(to, d+at(node)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if me == 0 {
		if err := relax(0, 0); err != nil {
			return err
		}
	}
	for last := -1; ; {
		for {
			_, found, err := w.Iprobe(comm.AnySource, tagWork)
			if err != nil {
				return err
			}
			if !found {
				break
			}
			var msg [2]float64
			if _, err := comm.Recv(w, msg[:], comm.AnySource, tagWork); err != nil {
				return err
			}
			received++
			if err := relax(int(msg[0]), msg[1]); err != nil {
				return err
			}
		}
		var total [2]int
		if err := comm.Allreduce(w, []int{sent, received}, total[:], comm.Sum); err != nil {
			return err
		}
		if total[0] == total[1] && total[0] == last {
			break
		}
		if last = -1; total[0] == total[1] {
			last = total[0]
		}
	}
	for i := me; i < length; i += n {
		a.y[i] = dist[i]
	}
	return nil
}

// servesBy returns a program whose rank 0 sends number(i) with answer i.
func servesBy(number func(i int) float64) program {
	return func(p *intra.Process, a *arrays) error {
		w := p.World()
		if w.Rank() > 0 {
			if err := comm.Send(w, a.x[:1], 0, tagAsk); err != nil {
				return err
			}
			_, err := comm.Recv(w, a.y[:1], 0, tagWork)
			halve(p, a.y, a.x)
			return err
		}
		for i := range w.Size() - 1 {
			st, err := comm.Recv(w, make([]float64, 1), comm.AnySource, tagAsk)
			if err != nil {
				return err
			}
			a.y[i] = number(i)
			if err := comm.Send(w, a.y[i:i+1], st.Source, tagWork); err != nil {
				return err
			}
		}
		halve(p, a.y, a.x)
		return nil
	}
}
