//go:build system

package clauses

// messages is the code by which the ranks of a random program exchange messages between
// the passes of its sections. A kernel names the patterns that its passes use. The effect
// of a pattern on x does not depend on the order of messages. Data that depends on the
// order is hashed into the variable order. The ranks compare that variable, and must agree
// on it, whichever replicas die.
const messages = `
// ranks is the state of a process in the exchange of messages.
type ranks struct {
	w     *comm.Comm
	order []uint64 // by rank: a hash of what each rank has seen of the order of messages
	tag   int
}

// see adds to the hash of what this rank has seen.
func (r *ranks) see(v int) {
	h := &r.order[r.w.Rank()]
	*h = (*h ^ uint64(v)) * 0x9e3779b97f4a7c15
	*h ^= *h >> 29
}

// exchange performs a pattern, and compares what the ranks know of the order.
func (r *ranks) exchange(pattern int, x []float64) error {
	if r.w.Size() == 1 {
		return nil
	}
	r.tag = 10 * (pattern + 1)
	if err := patterns[pattern](r, x); err != nil {
		return fmt.Errorf("pattern %d: %w", pattern, err)
	}
	if err := comm.Allgather(r.w, []uint64{r.order[r.w.Rank()]}, r.order); err != nil {
		return err
	}
	var all uint64
	for _, h := range r.order {
		all = all*31 + h
	}
	low, err := comm.AllreduceValue(r.w, all, comm.Min)
	if err != nil {
		return err
	}
	high, err := comm.AllreduceValue(r.w, all, comm.Max)
	if err != nil {
		return err
	}
	if low != high {
		return fmt.Errorf("pattern %d: ranks do not agree on the order of messages", pattern)
	}
	return nil
}

// others calls do for each other rank.
func (r *ranks) others(do func(rank int)) {
	for n := range r.w.Size() - 1 {
		do((r.w.Rank() + 1 + n) % r.w.Size())
	}
}

func (r *ranks) left() int  { return (r.w.Rank() + r.w.Size() - 1) % r.w.Size() }
func (r *ranks) right() int { return (r.w.Rank() + 1) % r.w.Size() }

// mix adds what other ranks have sent, in the order of the ranks.
func mix(x []float64, from [][]float64) {
	for n, part := range from {
		for i, v := range part {
			x[i%len(x)] += 0.1 * v / float64(n+2)
		}
	}
}

// parts returns memory for a part of each rank.
func (r *ranks) parts(n int) [][]float64 {
	all := make([][]float64, r.w.Size())
	for i := range all {
		all[i] = make([]float64, n)
	}
	return all
}

// receives begins a receive from each other rank.
func (r *ranks) receives(from [][]float64) (reqs []*comm.Request, ranks []int) {
	r.others(func(rank int) {
		reqs, ranks = append(reqs, comm.Irecv(r.w, from[rank], rank, r.tag)), append(ranks, rank)
	})
	return reqs, ranks
}

// sends begins to send x to each other rank.
func (r *ranks) sends(x []float64) (reqs []*comm.Request) {
	r.others(func(rank int) { reqs = append(reqs, comm.Isend(r.w, x, rank, r.tag)) })
	return reqs
}

// all performs a pattern in which each rank sends x to all others.
func (r *ranks) all(x []float64, receive func(from [][]float64) error) error {
	own := slices.Clone(x)
	from, sent := r.parts(len(x)), r.sends(own)
	if err := receive(from); err != nil {
		return err
	}
	if err := comm.WaitAll(sent...); err != nil {
		return err
	}
	mix(x, from)
	return nil
}

// polled performs all with a call that completes some of the receives.
func (r *ranks) polled(x []float64, complete func(reqs []*comm.Request) ([]int, error)) error {
	return r.all(x, func(from [][]float64) error {
		reqs, ranks := r.receives(from)
		for left := len(reqs); left > 0; {
			done, err := complete(reqs)
			if err != nil {
				return err
			}
			for _, i := range done {
				r.see(ranks[i])
			}
			r.see(-1)
			if left -= len(done); len(done) == 0 {
				runtime.Gosched()
			}
		}
		return nil
	})
}
`
