package sched

// View is the knowledge of a replica about a section when it chooses its next task.
type View interface {
	// Todo reports whether task t still has to be run: its result is not here, and it does
	// not run here.
	Todo(t int) bool
	// Expected reports whether a live peer must send t, or has claimed it and the claim has
	// not expired.
	Expected(t int) bool
	// Gone reports whether replica i is dead, finished, or known to be past the section.
	Gone(i int) bool
	// Sooner reports whether the working peers would have run all open tasks before this
	// replica could have run one. t is one of the open tasks, and open is their number.
	Sooner(t, open int) bool
}

// Index is a View that finds open tasks without a look at all tasks. A task is open if it
// is to do and not expected. For any other View, Next asks about every task.
type Index interface {
	View
	// First returns the first open task of lo to hi-1, or the last one if back is set.
	First(lo, hi int, back bool) (task int, ok bool)
	// Open returns the number of open tasks in replica i's block.
	Open(i int) int
}

// Shape holds the properties of a section that all replicas know: the number of tasks, the
// number of replicas at the start, and the policy.
type Shape struct {
	Policy   Policy
	Tasks    int
	Replicas int
	// Backward means that blocks are run from their last task to the first, except with a
	// static schedule. If it alternates from section to section, each section finds in the
	// caches the memory that the previous one has used last.
	Backward bool
}

// backward reports whether blocks are run from their last task to the first.
func (s Shape) backward() bool { return s.Backward && s.Policy != Static }

// Next returns the task that replica me should run now. It returns false if no task is
// left, or if a peer is expected to deliver every remaining task, or would do so sooner.
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

// open returns the number of open tasks.
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

// adopt selects a task from the block of a replica that will not run it. The remaining
// replicas start at different places of the block. So each has run its part when the parts of the
// other replicas arrive.
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
	// Tasks of live replicas that are not expected, because their updates were skipped.
	if s.Policy == Static {
		return x.First(0, s.Tasks, false)
	}
	return 0, false
}

// help selects a task from the block of the peer with the most open tasks. It selects the
// one that the peer would run last, so that the two replicas meet as late as possible.
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

// scan makes an Index of any View, by asking about every task.
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
