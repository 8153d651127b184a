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

// Index is a View that finds open tasks, which are to do and not expected,
// without a look at all others. Of a View that is none every task is asked for.
type Index interface {
	View
	// First returns the first open task of lo to hi-1, or, with back, the last.
	First(lo, hi int, back bool) (task int, ok bool)
	// Open is how many tasks of replica i's block are open.
	Open(i int) int
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

// backward is whether blocks are run from their last task to the first.
func (s Shape) backward() bool { return s.Backward && s.Policy != Static }

// Next returns the task that replica me should run now. None means that every
// task which is still to do is expected from a peer or better left to one, or
// that none is left.
func Next(s Shape, me int, v View) (task int, ok bool) {
	x, found := v.(Index)
	if !found {
		x = scan{v, s}
	}
	task, ok = next(s, me, x)
	if ok && s.Policy == Adaptive && s.Replicas > 1 && x.Sooner(task, open(s, x)) {
		return 0, false
	}
	return task, ok
}

// open counts the tasks that nobody has started.
func open(s Shape, x Index) (n int) {
	for i := range s.Replicas {
		n += x.Open(i)
	}
	return n
}

func next(s Shape, me int, x Index) (task int, ok bool) {
	lo, hi := Block(s.Tasks, s.Replicas, me)
	if s.Policy == Replicate {
		lo, hi = 0, s.Tasks
	}
	if t, ok := x.First(lo, hi, s.backward()); ok {
		return t, true
	}
	if t, ok := adopt(s, me, x); ok {
		return t, true
	}
	if s.Policy == Adaptive {
		return help(s, me, x)
	}
	return 0, false
}

// adopt picks a task from the block of a replica that will not run it.
// Survivors start at different places of the block, so that each has run its
// part when the parts of the others arrive.
func adopt(s Shape, me int, x Index) (int, bool) {
	for i := range s.Replicas {
		if i == me || !x.Gone(i) {
			continue
		}
		lo, hi := Block(s.Tasks, s.Replicas, i)
		from := lo + me*(hi-lo)/s.Replicas
		if t, ok := x.First(from, hi, false); ok {
			return t, true
		}
		if t, ok := x.First(lo, from, false); ok {
			return t, true
		}
	}
	// Tasks of live replicas that are not expected: skipped updates.
	if s.Policy == Static {
		return x.First(0, s.Tasks, false)
	}
	return 0, false
}

// help picks the open task that the peer with most tasks open would run last,
// so that the two meet as late as can be.
func help(s Shape, me int, x Index) (task int, ok bool) {
	most := 0
	for i := range s.Replicas {
		if i == me {
			continue
		}
		if open := x.Open(i); open > most {
			most = open
			lo, hi := Block(s.Tasks, s.Replicas, i)
			task, ok = x.First(lo, hi, !s.backward())
		}
	}
	return task, ok
}

// scan makes an index of any view.
type scan struct {
	View
	shape Shape
}

func (v scan) isOpen(t int) bool { return v.Todo(t) && !v.Expected(t) }

func (v scan) First(lo, hi int, back bool) (task int, ok bool) {
	for k := range max(hi-lo, 0) {
		t := lo + k
		if back {
			t = hi - 1 - k
		}
		if v.isOpen(t) {
			return t, true
		}
	}
	return 0, false
}

func (v scan) Open(i int) (n int) {
	lo, hi := Block(v.shape.Tasks, v.shape.Replicas, i)
	for t := lo; t < hi; t++ {
		if v.isOpen(t) {
			n++
		}
	}
	return n
}
