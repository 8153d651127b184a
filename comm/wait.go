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

// WaitAny waits until one of the requests completes, and returns its index. It skips
// requests whose completion it has already reported. It returns Undefined if there is no such request.
func WaitAny(reqs ...*Request) (int, Status, error) {
	done, err := waitFor(reqs, "WaitAny", func(reqs []*Request) []int { return firstOf(reqs)() })
	if err != nil || len(done) == 0 {
		return Undefined, Status{}, err
	}
	st, err := reqs[done[0]].Wait()
	return done[0], st, err
}

// WaitSome waits like WaitAny. It returns the indices of all requests that are complete
// then, and the first error in their order.
func WaitSome(reqs ...*Request) ([]int, error) {
	done, err := waitFor(reqs, "WaitSome", completeOf)
	if err != nil {
		return nil, err
	}
	return done, reportOf(reqs, done)
}

// TestAll reports whether all requests are complete. It reports completions only if all of
// them are.
func TestAll(reqs ...*Request) (bool, error) {
	progress(reqs)
	done, err := agree(reqs, false, func() []int {
		for _, r := range reqs {
			if r != nil && !r.complete() {
				return nil
			}
		}
		return []int{0}
	})
	if err != nil || len(done) > 0 || len(reqs) == 0 { // after an error, or if all are complete, WaitAll returns the result
		return true, WaitAll(reqs...)
	}
	return false, nil
}

// TestAny is like WaitAny, but does not wait. It returns the index Undefined if there is no
// request, or none is complete.
func TestAny(reqs ...*Request) (int, Status, error) {
	progress(reqs)
	done, err := agree(reqs, false, firstOf(reqs))
	switch {
	case err != nil:
		return Undefined, Status{}, underWay(reqs).c.failed("TestAny", "test of several requests", err)
	case len(done) == 0:
		return Undefined, Status{}, nil
	}
	st, err := reqs[done[0]].Wait()
	return done[0], st, err
}

// TestSome is like WaitSome, but does not wait.
func TestSome(reqs ...*Request) ([]int, error) {
	progress(reqs)
	done, err := agree(reqs, false, func() []int { return completeOf(reqs) })
	if err != nil {
		return nil, underWay(reqs).c.failed("TestSome", "test of several requests", err)
	}
	return done, reportOf(reqs, done)
}

// completeOf returns the indices of the requests that are complete and not reported.
func completeOf(reqs []*Request) (done []int) {
	for i, r := range reqs {
		if r != nil && r.active && r.complete() {
			done = append(done, i)
		}
	}
	return done
}

// firstOf returns a function that returns the index of the first complete request, if there
// is one.
func firstOf(reqs []*Request) func() []int {
	return func() []int {
		if i := completeAt(reqs); i >= 0 {
			return []int{i}
		}
		return nil
	}
}

// reportOf reports the requests with these indices, and returns the first error.
func reportOf(reqs []*Request, indices []int) (first error) {
	for _, i := range indices {
		if _, err := reqs[i].Wait(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// waitFor waits until some of the requests are complete, and returns their indices, as
// chosen by look. It returns none if no request is under way.
func waitFor(reqs []*Request, call string, look func([]*Request) []int) ([]int, error) {
	i := slices.IndexFunc(reqs, func(r *Request) bool { return r != nil && r.active })
	if i < 0 {
		return nil, nil
	}
	c := reqs[i].c
	if c == nil {
		return look(reqs), nil
	}
	if o := c.engine.Observer(); o != nil && completeAt(reqs) < 0 {
		defer o.Called(sdr.Any, sdr.Any, 0)()
	}
	var done []int
	var err error
	if underWay(reqs) != nil {
		done, err = agree(reqs, true, func() []int { return look(reqs) })
	} else {
		err = c.engine.WaitFor(func() bool { return completeAt(reqs) >= 0 },
			func() error { return allHopeless(reqs) }, func() sdr.Awaited { return anyAwaited(reqs) })
		done = look(reqs)
	}
	if err != nil {
		return nil, c.failed(call, "wait for any of several requests", err)
	}
	return done, nil
}

// allHopeless returns an error if none of the requests can ever complete.
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

// anyAwaited returns the ranks that the requests wait for. A message from one of them is enough.
// If a request needs messages of several ranks, the result contains only the first of these ranks.
func anyAwaited(reqs []*Request) sdr.Awaited {
	any := sdr.Awaited{One: true}
	for _, r := range reqs {
		if r == nil || !r.active || r.call == nil {
			continue
		}
		a := r.c.engine.Awaited(r.call)
		any.Moving = any.Moving || a.Moving || r.call.Done() // r is complete, but the program may not see that yet
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
			r.progress()
			return
		}
	}
}

func (r *Request) progress() {
	if r.c != nil {
		r.c.engine.Progress()
	}
}
