package simulation

import (
	"fmt"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/testkit/commtest"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// rank is the environment of steps. Results of sections are sent in messages, and received
// messages are used in the next section.
type rank struct{ *program }

// steps returns the steps of the programs, other than pure message traffic.
func (k *rank) steps() []commtest.Step {
	return []commtest.Step{k.work, k.work, k.work, k.workBetween, k.pass, k.collect, k.total,
		k.exchange, k.exchange, k.exchange, k.exchange, k.exchange, k.exchange}
}

// mix spreads every bit of the arguments over the result.
func mix(x, y uint64) uint64 {
	x = (x ^ y) * 0x9e3779b97f4a7c15
	return x ^ x>>29
}

// Each kind of section is a way in which tasks write memory. The result of a task depends
// on all memory that it reads. So a task that runs on memory other than that of the entry
// has another result.
const (
	inout    = iota // each task has a block of the state
	out             // each task has a block of another array, and writes only a part of it
	twice           // two regions, so the update has two pieces
	reduce          // a cell of a reduction
	aliasing        // an out region that the task also reads
	kinds
)

// work runs a section.
func (k *rank) work(w *commtest.World) error {
	tasks, kind, policy := w.Plan.IntN(8), w.Plan.IntN(kinds), sched.Policy(w.Plan.IntN(3))
	entry := w.Sum // differs if any observation differs
	other := append([]uint64(nil), k.words...)
	cells := make([]uint64, tasks)
	list := make([]task, tasks)
	for t := range list {
		lo, hi := sched.Block(words, tasks, t)
		block, apart, cell := k.words[lo:hi], other[lo:hi], &cells[t]
		regions := []update.Region{update.Var(update.In, "entry", &entry)}
		slice := func(mode update.Mode, mem []uint64) { regions = append(regions, update.Slice(mode, "mem", mem)) }
		var body func()
		switch kind {
		case inout:
			slice(update.InOut, block)
			body = func() { k.fill(entry, block, block, 1) }
		case out:
			slice(update.In, block)
			slice(update.Out, apart)
			body = func() { k.fill(entry, block, apart, 2) }
		case twice:
			slice(update.InOut, block)
			slice(update.Out, apart)
			body = func() {
				k.fill(entry, block, apart, 1)
				k.fill(entry+1, block, block, 1)
			}
		case reduce:
			slice(update.In, block)
			regions = append(regions, update.Var(update.Reduce, "cell", cell))
			body = func() {
				v := [1]uint64{}
				k.fill(entry, block, v[:], 1)
				*cell = v[0]
			}
		case aliasing:
			slice(update.In, block)
			slice(update.Out, block)
			body = func() { k.fill(entry, block, block, 1) }
		}
		list[t] = task{body, regions}
	}
	if err := k.p.section(policy, list); err != nil {
		return fmt.Errorf("section: %w", err)
	}
	for i, v := range other {
		k.words[i] = mix(k.words[i], v)
	}
	w.Observe(k.words, cells)
	return nil
}

// fill writes every step-th word of to, computed from all words of from. It takes time.
// Meanwhile the memory has neither its old nor its new contents.
func (k *rank) fill(entry uint64, from, to []uint64, step int) {
	sum := entry
	for _, v := range from {
		sum = mix(sum, v)
	}
	k.p.lull()
	for i := 0; i < len(to); i += step {
		to[i] = mix(sum, uint64(i))
		if i == 1 {
			k.p.lull()
		}
	}
}

// workBetween runs a section while messages are in flight.
func (k *rank) workBetween(w *commtest.World) error {
	n, me := w.Comm.Size(), w.Comm.Rank()
	mine, theirs := append([]uint64(nil), k.words...), make([]uint64, words)
	r := comm.Irecv(w.Comm, theirs, (me-1+n)%n, 11)
	s := comm.Isend(w.Comm, mine, (me+1)%n, 11)
	if err := k.work(w); err != nil {
		return err
	}
	if err := comm.WaitAll(r, s); err != nil {
		return err
	}
	k.take(w, theirs)
	return nil
}

// take stores received words in the state.
func (k *rank) take(w *commtest.World, words []uint64) {
	for i, v := range words {
		k.words[i] = mix(k.words[i], v)
	}
	w.Observe(k.words)
}

// pass sends the state to both neighbours. They receive it from any source, and use it in
// the order of the sources.
func (k *rank) pass(w *commtest.World) error {
	n, me := w.Comm.Size(), w.Comm.Rank()
	var neighbours []int
	for _, r := range []int{me - 1, me + 1} {
		if r >= 0 && r < n {
			neighbours = append(neighbours, r)
		}
	}
	bufs, reqs := make([][]uint64, len(neighbours)), make([]*comm.Request, len(neighbours))
	for i := range neighbours {
		bufs[i] = make([]uint64, words)
		reqs[i] = comm.Irecv(w.Comm, bufs[i], comm.AnySource, 12)
	}
	for _, r := range neighbours {
		if err := comm.Send(w.Comm, k.words, r, 12); err != nil {
			return err
		}
	}
	from := make(map[int][]uint64)
	for i, r := range reqs {
		st, err := r.Wait()
		if err != nil {
			return err
		}
		from[st.Source] = bufs[i]
	}
	for _, r := range neighbours {
		k.take(w, from[r])
	}
	return w.Comm.Barrier() // these receives must not match the next messages with this tag
}

// collect sends a part of every state to one rank. That rank receives the parts in order
// of arrival, and sends back a result computed from all of them.
func (k *rank) collect(w *commtest.World) error {
	n, me, root := w.Comm.Size(), w.Comm.Rank(), w.Plan.IntN(w.Comm.Size())
	back := make([]uint64, 4)
	if me != root {
		if err := comm.Send(w.Comm, k.words[:4], root, 13); err != nil {
			return err
		}
		if _, err := comm.Recv(w.Comm, back, root, 14); err != nil {
			return err
		}
		k.take(w, back)
		return nil
	}
	parts := make([][]uint64, n)
	for range n - 1 {
		buf := make([]uint64, 4)
		st, err := comm.Recv(w.Comm, buf, comm.AnySource, 13)
		if err != nil {
			return err
		}
		parts[st.Source] = buf
	}
	for _, p := range parts {
		k.take(w, p)
	}
	copy(back, k.words)
	for r := range n {
		if r != me {
			if err := comm.Send(w.Comm, back, r, 14); err != nil {
				return err
			}
		}
	}
	return nil
}

// total is a reduction over the states.
func (k *rank) total(w *commtest.World) error {
	sums := make([]uint64, words)
	if err := comm.Allreduce(w.Comm, k.words, sums, comm.Sum); err != nil {
		return err
	}
	k.take(w, sums)
	return nil
}
