// Anyorder is a program whose messages depend on the order in which others arrive. Rank 0
// gives the next task to the first rank that requests one. In each pass every rank hashes
// messages in the order of their arrival. At the end the program prints whether each task
// was done once and whether all ranks have the same result. With the second argument "forget"
// it does not register the hash of what it has seen. With any other second argument it wrongly
// asserts that its messages do not depend on any order.
package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

const (
	tagAsk = iota
	tagTask
	tagPass
)

// mix is a hash that depends on the order of its inputs.
func mix(h, v uint64) uint64 {
	h = (h ^ v) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

func main() {
	intra.Main(func(p *intra.Process) error {
		tasks, err := strconv.Atoi(os.Args[1])
		if err != nil {
			return err
		}
		forgets := len(os.Args) > 2 && os.Args[2] == "forget"
		if len(os.Args) > 2 && !forgets { // wrong: its messages do depend on the order
			if err := p.World().AssertSendDeterministic(); err != nil {
				return err
			}
		}
		return run(p, uint64(tasks), forgets)
	})
}

// passes is the number of exchanges of hashes, with a safe point before each.
const passes = 20

func run(p *intra.Process, tasks uint64, forgets bool) error {
	w := p.World()
	var seen, done uint64
	var pass int64
	if !forgets {
		intra.Protect(p, "seen", &seen)
	}
	intra.Protect(p, "done", &done)
	intra.Protect(p, "pass", &pass)
	for ; pass <= passes; pass++ {
		err := p.SafePoint()
		switch {
		case err != nil:
		case pass > 0:
			seen, err = arrivals(w, int(pass), seen)
		case w.Rank() == 0:
			seen, done, err = farm(w, tasks)
		default:
			seen, err = work(w, tasks)
		}
		if err != nil {
			return err
		}
		if w.Rank() == 0 {
			fmt.Printf("pass %d: %016x\n", pass, seen)
		}
	}
	low, err := comm.AllreduceValue(w, seen, func(a, b uint64) uint64 { return min(a, b) })
	if err != nil {
		return err
	}
	high, err := comm.AllreduceValue(w, seen, func(a, b uint64) uint64 { return max(a, b) })
	if err != nil || w.Rank() > 0 {
		return err
	}
	fmt.Printf("every task once: %t\nall ranks agree: %t\n", done == tasks*(tasks+1)/2, low == high)
	return nil
}

// farm distributes the tasks. It returns a hash of the order of the results and their sum.
func farm(w *comm.Comm, tasks uint64) (seen, done uint64, err error) {
	next, working := uint64(1), w.Size()-1
	for working > 0 {
		var result [1]uint64
		st, err := comm.Recv(w, result[:], comm.AnySource, tagAsk)
		if err != nil {
			return 0, 0, err
		}
		done += result[0]
		seen = mix(mix(seen, result[0]), uint64(st.Source))
		task := next
		if next++; task > tasks {
			task = 0
			working--
		}
		if err := comm.Send(w, []uint64{task}, st.Source, tagTask); err != nil {
			return 0, 0, err
		}
	}
	return seen, done, nil
}

// work performs the tasks that this rank receives.
func work(w *comm.Comm, tasks uint64) (seen uint64, err error) {
	for task := [1]uint64{}; ; {
		if err := comm.Send(w, task[:], 0, tagAsk); err != nil {
			return 0, err
		}
		if _, err := comm.Recv(w, task[:], 0, tagTask); err != nil {
			return 0, err
		}
		if task[0] == 0 {
			return seen, nil
		}
		if seen = mix(seen, task[0]); task[0] > tasks {
			return 0, fmt.Errorf("task %d of %d", task[0], tasks)
		}
	}
}

// arrivals receives the hashes of the other ranks in order of arrival and adds them to
// the hash of this rank. It returns the result of rank 0.
func arrivals(w *comm.Comm, pass int, seen uint64) (uint64, error) {
	reqs := make([]*comm.Request, 0, w.Size())
	for r := range w.Size() {
		if r != w.Rank() {
			reqs = append(reqs, comm.Isend(w, []uint64{seen}, r, tagPass+pass))
		}
	}
	tests := uint64(0)
	for range w.Size() - 1 {
		for {
			_, found, err := w.Iprobe(comm.AnySource, tagPass+pass)
			if err != nil {
				return 0, err
			}
			if found {
				break
			}
			tests++
		}
		var v [1]uint64
		st, err := comm.Recv(w, v[:], comm.AnySource, tagPass+pass)
		if err != nil {
			return 0, err
		}
		seen = mix(mix(seen, v[0]+tests), uint64(st.Source))
	}
	if err := comm.WaitAll(reqs...); err != nil {
		return 0, err
	}
	word := []uint64{seen}
	err := comm.Bcast(w, word, 0)
	return word[0], err
}
