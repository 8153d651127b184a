// Package intra is the package that programs import. It joins a process to its job, and
// lets the replicas of a rank share the work of sections.
//
// A program runs entirely inside [Main]. Between sections every replica of a rank computes
// the same. In a section each replica runs some of the tasks and receives the results of
// the others as updates, so that all replicas leave it with the same state. Any replica may die at
// any moment: the other replicas compute the missing results, with the same bits.
//
//	func main() { intra.Main(run) }
//
//	func run(p *intra.Process) error {
//		s := p.Section()
//		for lo, hi := range intra.Blocks(len(w), p.Tasks()) {
//			launchWaxpby(s, 2, x[lo:hi], 3, y[lo:hi], w[lo:hi])
//		}
//		return s.End()
//	}
//
// Programs usually do not call Section and Launch. They are written with annotations, from
// which intragen generates these calls. If a program is started without the launcher
// intrarun, or uses a nil *Process, it is a single rank without replicas and runs each task
// at its launch.
//
// # State
//
// A program may register its state, and declare the points at which that state is complete.
// It can then be restored there. A process that replaces a lost one begins at such a point,
// and so does a job that rolls back.
//
//	intra.Protect(p, "x", &x)
//	intra.Protect(p, "pass", &pass)
//	if !p.Restored() {
//		… // initialise x
//	}
//	for ; pass < passes; pass++ {
//		if err := p.SafePoint(); err != nil {
//			return err
//		}
//		…
//	}
//
// For a struct with //intra:state intragen writes a method that registers all of its
// fields. Checked mode also restores the program at safe points, and finds state that is
// not registered.
//
// # Checked mode
//
// With intrarun -check, Spec.Check or package intratest every section runs in a way that
// finds wrong clauses. Each task runs more than once, with poison in the memory that it may
// not read. All named memory is compared before and after, and the results of all replicas
// are compared with each other. A finding names the kernel, the argument, the element and
// the clause to change. Only memory that a clause or [Watch] names is checked.
//
// # Direct stores
//
// The replicas of a rank that are on one host share the memory of the arrays that [Alloc]
// makes. If tasks write only such arrays and partial results, the replicas may store
// results directly into each other's arrays. They do so if that takes less time than
// sending them (see intrarun -direct). A replica stores only into the arrays of replicas
// that have reached the section, and only results that are complete in its own arrays. So when any
// replica dies, the other replicas find either the contents at the entry of the section or the
// complete result.
//
// # Threads
//
// With intrarun -threads T each replica runs up to T tasks of a section concurrently, at
// the end of the section. This also holds for a rank with one replica, which otherwise runs
// each task at its launch. Results are the same for every T. Tasks that use the same
// scratch space run one after the other, and so do all tasks in checked mode.
//
// Only one goroutine at a time may use a Process and its sections. The body of a task may
// start goroutines with Go of a [sync.WaitGroup] or an errgroup.Group. It must call Wait
// before it returns, and its result must not depend on their order. intragen and intravet
// refuse go statements, and goroutines that may outlive their task. A panic in one of them
// ends the process, and the message does not name the task.
package intra
