package commtest

import "github.com/intrahpc/intra/comm"

// Affine is x -> A*x+B modulo 2^64.
type Affine struct{ A, B uint64 }

// Compose is an associative operation that is not commutative.
func Compose(f, g Affine) Affine { return Affine{f.A * g.A, f.A*g.B + f.B} }

func collectives(w *World) error {
	c := w.Comm
	n, me, root, size := c.Size(), c.Rank(), w.Plan.IntN(c.Size()), 1+w.size()
	own := make([]Affine, size)
	for i := range own {
		own[i] = Affine{uint64(2*me + 3), uint64(me*100 + i)}
	}
	out, all := make([]Affine, size), make([]Affine, size*n)
	var err error
	switch w.Plan.IntN(9) {
	case 0:
		err = comm.Allreduce(c, own, out, Compose)
	case 1:
		err = comm.Reduce(c, own, out, Compose, root)
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
		send := make([]Affine, size*n)
		for i := range send {
			send[i] = Affine{uint64(me), uint64(i)}
		}
		err = comm.Alltoall(c, send, all)
	case 6:
		err = comm.Scan(c, own, out, Compose)
	case 7:
		send := make([]Affine, size*n)
		for i := range send {
			send[i] = Affine{uint64(me + 2), uint64(i)}
		}
		err = comm.ReduceScatter(c, send, out, nil, Compose)
	case 8: // two at a time; the second is awaited first
		a := comm.Iallreduce(c, own, out, Compose)
		b := comm.Iallgather(c, own, all)
		if _, err = b.Wait(); err == nil {
			_, err = a.Wait()
		}
	}
	w.Observe(out, all)
	return err
}

func overlapped(w *World) error {
	n, me := w.Comm.Size(), w.Comm.Rank()
	size := w.size()
	v := []float64{0.1 * float64(me+1)}
	all := comm.Iallreduce(w.Comm, nil, v, comm.Sum)
	send := comm.Isend(w.Comm, payload(me, 0, size), (me+1)%n, 0)
	buf := make([]uint32, size+2)
	if _, err := comm.Recv(w.Comm, buf, (me-1+n)%n, 0); err != nil {
		return err
	}
	if err := comm.WaitAll(send, all); err != nil {
		return err
	}
	w.Observe(v, buf)
	return nil
}

// halo is the communication pattern of HPCCG. A rank receives the messages of its
// neighbours from any source and stores them by source. A reduction separates the rounds.
func halo(w *World) error {
	n, me, size := w.Comm.Size(), w.Comm.Rank(), w.size()
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
			reqs = append(reqs, comm.Irecv(w.Comm, bufs[i], comm.AnySource, 99))
		}
		for _, r := range neighbours {
			if err := comm.Send(w.Comm, payload(me, round, size), r, 99); err != nil {
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
		sum, err := comm.AllreduceValue(w.Comm, me+round, comm.Sum)
		if err != nil {
			return err
		}
		w.Observe(seen, []int{sum})
	}
	return nil
}
