package sched

// View is what a replica knows of a section when it looks for its next task.
type View interface {
	// Todo: nobody's result of t is here, and it does not run here.
	Todo(t int) bool
	// Expected: a live peer is bound to send t, or has claimed it and its
	// time has not run out.
	Expected(t int) bool
	// Gone: replica i is dead, finished, or known to be past the section.
	Gone(i int) bool
	// Sooner: the peers that are at work will have run so many tasks like t,
	// which are all that are open, before this replica could have run one.
	Sooner(t, open int) bool
}

// Shape is what all replicas agree on: n tasks, r replicas at the start.
type Shape struct {
	Policy   Policy
	Tasks    int
	Replicas int
	// Backward: blocks are run from their last task to the first, except with a
	// static schedule. Sections that take turns in this find in the caches what
	// the one before has used last.
	Backward bool
}

// order returns the k-th of the tasks lo to hi-1 in the order in which they are
// run.
func (s Shape) order(lo, hi, k int) int {
	if s.Backward && s.Policy != Static {
		return hi - 1 - k
	}
	return lo + k
}

// Next returns the task that replica me should run now. None means that every
// task which is still to do is expected from a peer or better left to one, or
// that none is left.
func Next(s Shape, me int, v View) (task int, ok bool) {
	task, ok = next(s, me, v)
	if ok && s.Policy == Adaptive && s.Replicas > 1 && v.Sooner(task, open(s, v)) {
		return 0, false
	}
	return task, ok
}

// open counts the tasks that nobody has started.
func open(s Shape, v View) (n int) {
	for t := range s.Tasks {
		if v.Todo(t) && !v.Expected(t) {
			n++
		}
	}
	return n
}

func next(s Shape, me int, v View) (task int, ok bool) {
	lo, hi := Block(s.Tasks, s.Replicas, me)
	if s.Policy == Replicate {
		lo, hi = 0, s.Tasks
	}
	for k := range hi - lo {
		if t := s.order(lo, hi, k); v.Todo(t) && !v.Expected(t) {
			return t, true
		}
	}
	if t, ok := adopt(s, me, v); ok {
		return t, true
	}
	if s.Policy == Adaptive {
		return help(s, me, v)
	}
	return 0, false
}

// adopt picks a task from the block of a replica that will not run it.
// Survivors start at different places of the block, so that each has run its
// part when the parts of the others arrive.
func adopt(s Shape, me int, v View) (int, bool) {
	for i := range s.Replicas {
		if i == me || !v.Gone(i) {
			continue
		}
		lo, hi := Block(s.Tasks, s.Replicas, i)
		n := hi - lo
		for k := range n {
			t := lo + (me*n/s.Replicas+k)%n
			if v.Todo(t) && !v.Expected(t) {
				return t, true
			}
		}
	}
	// Tasks of live replicas that are not expected: skipped updates.
	if s.Policy == Static {
		for t := range s.Tasks {
			if v.Todo(t) && !v.Expected(t) {
				return t, true
			}
		}
	}
	return 0, false
}

// help picks the open task that the peer with most tasks open would run last,
// so that the two meet as late as can be.
func help(s Shape, me int, v View) (task int, ok bool) {
	most := 0
	for i := range s.Replicas {
		if i == me {
			continue
		}
		lo, hi := Block(s.Tasks, s.Replicas, i)
		open, last := 0, 0
		for k := range hi - lo {
			if t := s.order(lo, hi, k); v.Todo(t) && !v.Expected(t) {
				open, last = open+1, t
			}
		}
		if open > most {
			most, task, ok = open, last, true
		}
	}
	return task, ok
}
