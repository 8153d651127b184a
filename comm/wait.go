package comm

import (
	"slices"

	"github.com/intrahpc/intra/transport/sdr"
)

// WaitAll waits until all requests are complete and returns the first error
// in their order. Their results stay available from Wait.
func WaitAll(reqs ...*Request) error {
	var first error
	for _, r := range reqs {
		if _, err := r.Wait(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// WaitAny waits until one of the requests is complete whose completion has
// not been reported, and returns its index; Undefined if there is none.
func WaitAny(reqs ...*Request) (int, Status, error) {
	i, err := waitAny(reqs)
	if i < 0 {
		return Undefined, Status{}, err
	}
	st, err := reqs[i].Wait()
	return i, st, err
}

// WaitSome waits like WaitAny and returns the indices of all that are
// complete then, with the first error in their order.
func WaitSome(reqs ...*Request) ([]int, error) {
	if i, err := waitAny(reqs); i < 0 {
		return nil, err
	}
	return testSome(reqs)
}

// TestAll reports whether all requests are complete. Completions are reported
// only if all are.
func TestAll(reqs ...*Request) (bool, error) {
	progress(reqs)
	for _, r := range reqs {
		if r != nil && !r.complete() {
			return false, nil
		}
	}
	return true, WaitAll(reqs...)
}

// TestAny is WaitAny that does not wait: the index is Undefined if there is
// none, or none is complete.
func TestAny(reqs ...*Request) (int, Status, error) {
	progress(reqs)
	if i := completeAt(reqs); i >= 0 {
		st, err := reqs[i].Wait()
		return i, st, err
	}
	return Undefined, Status{}, nil
}

// TestSome is WaitSome that does not wait.
func TestSome(reqs ...*Request) ([]int, error) {
	progress(reqs)
	return testSome(reqs)
}

func testSome(reqs []*Request) ([]int, error) {
	var done []int
	var first error
	for i, r := range reqs {
		if r != nil && r.active && r.complete() {
			done = append(done, i)
			if _, err := r.Wait(); err != nil && first == nil {
				first = err
			}
		}
	}
	return done, first
}

// waitAny returns the index of a request that is complete and not reported,
// or a negative number if none is under way.
func waitAny(reqs []*Request) (int, error) {
	for _, r := range reqs {
		if r == nil || !r.active {
			continue
		}
		if r.c == nil {
			return completeAt(reqs), nil
		}
		if o := r.c.engine.Observer(); o != nil && completeAt(reqs) < 0 {
			defer o.Called(sdr.Any, sdr.Any, 0)()
		}
		err := r.c.engine.WaitFor(func() bool { return completeAt(reqs) >= 0 },
			func() error { return allHopeless(reqs) }, func() sdr.Awaited { return anyAwaited(reqs) })
		if err != nil {
			return Undefined, r.c.failed("WaitAny", "wait for any of several requests", err)
		}
		return completeAt(reqs), nil
	}
	return Undefined, nil
}

// allHopeless says why none of the requests will ever be complete, if that is so.
func allHopeless(reqs []*Request) (err error) {
	for _, r := range reqs {
		if r == nil || !r.active || r.call == nil {
			continue
		}
		if err = r.c.engine.Hopeless(r.call); err == nil {
			return nil
		}
	}
	return err
}

// anyAwaited says whom the requests wait for of which one is enough. Of one that
// lacks messages of several ranks it names the first.
func anyAwaited(reqs []*Request) sdr.Awaited {
	any := sdr.Awaited{One: true}
	for _, r := range reqs {
		if r == nil || !r.active || r.call == nil {
			continue
		}
		a := r.c.engine.Awaited(r.call)
		any.Moving = any.Moving || a.Moving || r.call.Done() // but not visible
		if !a.One && len(a.Ranks) > 1 {
			a.Ranks = a.Ranks[:1]
		}
		for _, rank := range a.Ranks {
			if !slices.Contains(any.Ranks, rank) {
				any.Ranks = append(any.Ranks, rank)
			}
		}
	}
	return any
}

func completeAt(reqs []*Request) int {
	for i, r := range reqs {
		if r != nil && r.active && r.complete() {
			return i
		}
	}
	return Undefined
}

func progress(reqs []*Request) {
	for _, r := range reqs {
		if r != nil && r.active && r.c != nil {
			r.c.engine.Progress()
			return
		}
	}
}
