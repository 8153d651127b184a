package comm_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/transport/sdr"
	"github.com/intrahpc/intra/transport/sdr/sdrtest"
)

// The simulation runs random programs in random jobs with random deaths, and
// compares what every rank observed with the run of the same program without
// replicas. INTRA_SOAK=N runs N schedules, INTRA_SEED=S only the one with seed
// S.

// affine is x -> A*x+B modulo 2^64. Composition is not commutative.
type affine struct{ A, B uint64 }

func compose(f, g affine) affine { return affine{f.A * g.A, f.A*g.B + f.B} }

// world is what the steps of a random program work with.
type world struct {
	c    *comm.Comm
	plan *rand.Rand // the same numbers at every replica of every rank
	sum  uint64     // what the rank has observed
}

func (w *world) observe(vs ...any) {
	mix := func(x uint64) { w.sum = (w.sum ^ x) * 0x9e3779b97f4a7c15; w.sum ^= w.sum >> 29 }
	for _, v := range vs {
		switch v := v.(type) {
		case []uint32:
			for _, x := range v {
				mix(uint64(x))
			}
		case []int:
			for _, x := range v {
				mix(uint64(x))
			}
		case []affine:
			for _, x := range v {
				mix(x.A)
				mix(x.B)
			}
		case []float64:
			for _, x := range v {
				mix(math.Float64bits(x))
			}
		case comm.Status:
			w.observe([]int{v.Source, v.Tag, v.Count})
		default:
			panic(fmt.Sprintf("cannot observe a %T", v))
		}
	}
}

// payload is what rank src sends as its i-th message of a step.
func payload(src, i, size int) []uint32 {
	p := make([]uint32, size+2)
	p[0], p[1] = uint32(src), uint32(i)
	for k := range size {
		p[k+2] = uint32(src*31 + i*7 + k)
	}
	return p
}

func check(p []uint32, src, i int) error {
	if len(p) < 2 || int(p[0]) != src || int(p[1]) != i {
		return fmt.Errorf("got %v..., want message %d of rank %d", p[:min(4, len(p))], i, src)
	}
	for k, v := range p[2:] {
		if v != uint32(src*31+i*7+k) {
			return fmt.Errorf("message %d of rank %d: word %d is %d", i, src, k, v)
		}
	}
	return nil
}

var sizes = []int{0, 1, 5, 20, 100, 700}

func (w *world) size() int { return sizes[w.plan.IntN(len(sizes))] }

// ring shifts a message round with a plain send and receive.
func ring(w *world) error {
	n, r, size := w.c.Size(), w.c.Rank(), w.size()
	req := comm.Isend(w.c, payload(r, 0, size), (r+1)%n, 3)
	buf := make([]uint32, size+2)
	st, err := comm.Recv(w.c, buf, (r-1+n)%n, 3)
	if err != nil {
		return err
	}
	w.observe(st, buf)
	if _, err := req.Wait(); err != nil {
		return err
	}
	return check(buf, (r-1+n)%n, 0)
}

// scatterShot sends random messages between random ranks; receivers take them
// by source, by wildcard, or one after the other by WaitAny.
func scatterShot(w *world) error {
	type msg struct{ src, dst, i, size int }
	n, me := w.c.Size(), w.c.Rank()
	count := make(map[[2]int]int)
	var msgs []msg
	for range 1 + w.plan.IntN(12) {
		m := msg{src: w.plan.IntN(n), dst: w.plan.IntN(n), size: w.size()}
		m.i = count[[2]int{m.src, m.dst}]
		count[[2]int{m.src, m.dst}]++
		msgs = append(msgs, m)
	}
	wild, any, sync := w.plan.IntN(2) == 0, w.plan.IntN(2) == 0, w.plan.IntN(3) == 0
	var sends, recvs []*comm.Request
	var bufs [][]uint32
	for _, m := range msgs {
		if m.dst == me {
			buf, src := make([]uint32, 702), m.src
			if wild {
				src = comm.AnySource
			}
			bufs = append(bufs, buf)
			recvs = append(recvs, comm.Irecv(w.c, buf, src, comm.AnyTag))
		}
		if m.src == me {
			p := payload(m.src, m.i, m.size)
			if sync {
				sends = append(sends, comm.Issend(w.c, p, m.dst, 9))
			} else {
				sends = append(sends, comm.Isend(w.c, p, m.dst, 9))
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
	for i, r := range recvs { // posting order: each source's messages in order
		st, err := r.Wait()
		if err != nil {
			return err
		}
		if err := check(bufs[i][:st.Count], st.Source, seen[st.Source]); err != nil {
			return fmt.Errorf("wild %v: %w", wild, err)
		}
		seen[st.Source]++
	}
	w.observe(seen)
	if err := comm.WaitAll(sends...); err != nil {
		return err
	}
	return w.c.Barrier() // no rank's next step may send into this one's wildcards
}

// fanIn collects messages at one rank, by wildcard receives, by Probe, or by
// polling with Iprobe.
func fanIn(w *world) error {
	n, me, root := w.c.Size(), w.c.Rank(), w.plan.IntN(w.c.Size())
	each, how, size := 1+w.plan.IntN(4), w.plan.IntN(3), w.size()
	if me != root {
		for i := range each {
			if err := comm.Send(w.c, payload(me, i, size+me), root, i); err != nil {
				return err
			}
		}
		return w.c.Barrier()
	}
	seen := make([]int, n)
	for range (n - 1) * each {
		src, tag, room := comm.AnySource, comm.AnyTag, size+n+2
		switch how {
		case 1:
			st, err := w.c.Probe(src, tag)
			if err != nil {
				return err
			}
			src, tag, room = st.Source, st.Tag, st.Count/4
		case 2:
			for {
				st, ok, err := w.c.Iprobe(src, tag)
				if err != nil {
					return err
				}
				if ok {
					src, tag, room = st.Source, st.Tag, st.Count/4
					break
				}
			}
		}
		buf := make([]uint32, room)
		st, err := comm.Recv(w.c, buf, src, tag)
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
	w.observe(seen)
	return w.c.Barrier()
}

// flood sends more than the receiver has room for; it takes the last first.
func flood(w *world) error {
	n, me := w.c.Size(), w.c.Rank()
	from, to := w.plan.IntN(n), w.plan.IntN(n)
	const many = 40
	if me == from {
		var reqs []*comm.Request
		for i := range many {
			reqs = append(reqs, comm.Isend(w.c, payload(me, i, i%9*10), to, i))
		}
		if me != to {
			return comm.WaitAll(reqs...)
		}
		defer comm.WaitAll(reqs...)
	}
	if me == to {
		buf := make([]uint32, 100)
		for i := many - 1; i >= 0; i-- {
			st, err := comm.Recv(w.c, buf, from, i)
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

// isendSsend is legal: the second message can be received before the first.
func isendSsend(w *world) error {
	n, me, size := w.c.Size(), w.c.Rank(), w.size()
	if n < 2 || me > 1 {
		return nil
	}
	buf := make([]uint32, size+2)
	if me == 0 {
		first := comm.Issend(w.c, payload(0, 0, size), 1, 1)
		if err := comm.Ssend(w.c, payload(0, 1, size), 1, 2); err != nil {
			return err
		}
		if _, err := comm.Recv(w.c, buf, 1, 3); err != nil {
			return err
		}
		_, err := first.Wait()
		return err
	}
	if _, err := comm.Recv(w.c, buf, 0, 2); err != nil {
		return err
	}
	if err := comm.Send(w.c, payload(1, 0, size), 0, 3); err != nil {
		return err
	}
	_, err := comm.Recv(w.c, buf, 0, 1)
	w.observe(buf)
	return err
}

// eachWay lets neighbours send to each other before they wait for what they
// receive.
func eachWay(w *world) error {
	n, me, size := w.c.Size(), w.c.Rank(), w.size()
	peer := me ^ 1
	if peer >= n {
		return nil
	}
	buf := make([]uint32, size+2)
	r := comm.Irecv(w.c, buf, peer, 5)
	if err := comm.Send(w.c, payload(me, 1, size), peer, 5); err != nil {
		return err
	}
	if _, err := r.Wait(); err != nil {
		return err
	}
	w.observe(buf)
	return check(buf, peer, 1)
}

func collectives(w *world) error {
	c := w.c
	n, me, root, size := c.Size(), c.Rank(), w.plan.IntN(c.Size()), 1+w.size()
	own := make([]affine, size)
	for i := range own {
		own[i] = affine{uint64(2*me + 3), uint64(me*100 + i)}
	}
	out, all := make([]affine, size), make([]affine, size*n)
	var err error
	switch w.plan.IntN(9) {
	case 0:
		err = comm.Allreduce(c, own, out, compose)
	case 1:
		err = comm.Reduce(c, own, out, compose, root)
	case 2:
		if me == root {
			copy(out, own)
		}
		err = comm.Bcast(c, out, root)
	case 3:
		err = comm.Gather(c, own, all, root)
		if me != root {
			clear(all)
		}
	case 4:
		err = comm.Allgather(c, own, all)
	case 5:
		send := make([]affine, size*n)
		for i := range send {
			send[i] = affine{uint64(me), uint64(i)}
		}
		err = comm.Alltoall(c, send, all)
	case 6:
		err = comm.Scan(c, own, out, compose)
	case 7:
		send := make([]affine, size*n)
		for i := range send {
			send[i] = affine{uint64(me + 2), uint64(i)}
		}
		err = comm.ReduceScatter(c, send, out, nil, compose)
	case 8: // two at a time, the second awaited first
		a := comm.Iallreduce(c, own, out, compose)
		b := comm.Iallgather(c, own, all)
		if _, err = b.Wait(); err == nil {
			_, err = a.Wait()
		}
	}
	w.observe(out, all)
	return err
}

func overlapped(w *world) error {
	n, me := w.c.Size(), w.c.Rank()
	size := w.size()
	v := []float64{0.1 * float64(me+1)}
	all := comm.Iallreduce(w.c, nil, v, comm.Sum)
	send := comm.Isend(w.c, payload(me, 0, size), (me+1)%n, 0)
	buf := make([]uint32, size+2)
	if _, err := comm.Recv(w.c, buf, (me-1+n)%n, 0); err != nil {
		return err
	}
	if err := comm.WaitAll(send, all); err != nil {
		return err
	}
	w.observe(v, buf)
	return nil
}

// halo is what HPCCG does: receives from any source for the messages of the
// neighbours, stored by their source, and a reduction before the next round.
func halo(w *world) error {
	n, me, size := w.c.Size(), w.c.Rank(), w.size()
	var neighbours []int
	for _, r := range []int{me - 1, me + 1} {
		if r >= 0 && r < n {
			neighbours = append(neighbours, r)
		}
	}
	for round := range 3 {
		var reqs []*comm.Request
		bufs := make([][]uint32, len(neighbours))
		for i := range neighbours {
			bufs[i] = make([]uint32, size+2)
			reqs = append(reqs, comm.Irecv(w.c, bufs[i], comm.AnySource, 99))
		}
		for _, r := range neighbours {
			if err := comm.Send(w.c, payload(me, round, size), r, 99); err != nil {
				return err
			}
		}
		seen := make([]int, n)
		for i, r := range reqs {
			st, err := r.Wait()
			if err == nil {
				err = check(bufs[i], st.Source, round)
			}
			if err != nil {
				return err
			}
			seen[st.Source]++
		}
		sum, err := comm.AllreduceValue(w.c, me+round, comm.Sum)
		if err != nil {
			return err
		}
		w.observe(seen, []int{sum})
	}
	return nil
}

func split(w *world) error {
	var sub *comm.Comm
	var err error
	if k := w.plan.IntN(3); k == 0 {
		sub, err = w.c.Dup()
	} else {
		sub, err = w.c.Split(w.c.Rank()%k, -w.c.Rank())
	}
	if err != nil {
		return err
	}
	in := &world{c: sub, plan: rand.New(rand.NewPCG(w.plan.Uint64(), 1)), sum: w.sum}
	for range 2 {
		step := steps[in.plan.IntN(len(steps))]
		if err := step(in); err != nil {
			return err
		}
	}
	w.observe([]int{int(in.sum)})
	return sub.Free()
}

var steps = []func(*world) error{ring, scatterShot, fanIn, flood, isendSsend, eachWay, collectives, collectives, overlapped, halo}

// program is one random program: what it does depends on the seed alone.
func program(seed uint64, length int, sums func(p *sdrtest.Process, sum uint64)) func(p *sdrtest.Process) error {
	return func(p *sdrtest.Process) error {
		c, err := comm.World(p.Engine)
		if err != nil {
			return err
		}
		sum, err := randomProgram(c, seed, length)
		if err == nil {
			sums(p, sum)
		}
		return err
	}
}

// randomProgram takes random steps and returns what the rank observed.
func randomProgram(c *comm.Comm, seed uint64, length int) (uint64, error) {
	w := &world{c: c, plan: rand.New(rand.NewPCG(seed, 77))}
	for range length {
		step := split
		if k := w.plan.IntN(len(steps) + 1); k < len(steps) {
			step = steps[k]
		}
		if err := step(w); err != nil {
			return 0, err
		}
	}
	return w.sum, nil
}

func simulate(seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 1))
	ranks := 1 + random.IntN(6)
	job := sdrtest.Job{Seed: seed, Mirror: random.IntN(8) == 0}
	limits := []sdr.Limits{{Eager: 256, Window: 4000, Retain: 3000}, {Eager: 1024, Window: 2000, Retain: 20000}, {}}
	job.Limits = limits[random.IntN(len(limits))]
	for range ranks {
		job.Degrees = append(job.Degrees, []int{1, 2, 2, 2, 3, 4}[random.IntN(6)])
	}
	for range random.IntN(5) {
		rank := random.IntN(ranks)
		k := sdrtest.Kill{Rank: rank, Replica: random.IntN(job.Degrees[rank]), Point: sdrtest.Point(random.IntN(3))}
		k.Count = random.IntN([]int{600, 60, 20}[k.Point])
		job.Kills = append(job.Kills, k)
	}
	length := 1 + random.IntN(5)

	want := make([]uint64, ranks)
	plain := sdrtest.Job{Seed: seed, Limits: job.Limits}
	for range ranks {
		plain.Degrees = append(plain.Degrees, 1)
	}
	res, err := plain.Run(program(seed, length, func(p *sdrtest.Process, sum uint64) { want[p.Rank] = sum }))
	if err == nil {
		err = errOf(res)
	}
	if err != nil {
		return fmt.Errorf("without replicas: %w", err)
	}
	var wrong error
	res, err = job.Run(program(seed, length, func(p *sdrtest.Process, sum uint64) {
		if sum != want[p.Rank] {
			wrong = fmt.Errorf("seed %d: %v observed something else than the unreplicated rank", seed, p)
		}
	}))
	if err == nil {
		err = errOf(res)
	}
	if err == nil {
		err = wrong
	}
	return err
}

func errOf(res *sdrtest.Result) error {
	for _, p := range res.Processes {
		if !p.Killed && p.Err != nil {
			return fmt.Errorf("%v: %w", p, p.Err)
		}
	}
	return nil
}

func TestSimulation(t *testing.T) {
	if s := os.Getenv("INTRA_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
		require.NoError(t, simulate(seed))
		return
	}
	n := 10_000
	if testing.Short() {
		n = 500
	}
	if s := os.Getenv("INTRA_SOAK"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	// Two workers, so that the other core of a small machine is used.
	var next atomic.Uint64
	var failed atomic.Bool
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			for seed := next.Add(1) - 1; seed < uint64(n) && !failed.Load(); seed = next.Add(1) - 1 {
				if err := simulate(seed); err != nil {
					failed.Store(true)
					t.Errorf("%v\nreplay with INTRA_SEED=%d go test -run TestSimulation ./comm", err, seed)
				}
			}
		})
	}
	wait.Wait()
}
