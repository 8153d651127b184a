// Package intra is what programs import: it joins a process to its job, and
// lets the replicas of a rank share the work of sections.
//
// A program runs entirely inside [Main]. Between sections every replica of
// a rank computes the same; in a section each replica runs some of the tasks
// and gets the results of the others as updates, so that all leave it with
// the same state. Any replica may die at any moment: the others compute what
// is missing, with the same bits.
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
// Programs are usually not written with Section and Launch but with
// annotations, from which intragen makes these calls. Started without the
// launcher intrarun, or with a nil *Process, a program is one rank alone and
// runs its tasks at once.
//
// # State
//
// A program that registers its state and says where it is complete can be
// restored: a process that takes the place of a lost one begins there, and so
// does a job that goes back.
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
// For a struct with //intra:state intragen writes a method that registers all
// of its fields. Checked mode restores the program at safe points, too, and
// finds state that was forgotten.
//
// # Checked mode
//
// With intrarun -check, Spec.Check or package intratest every section is run
// in a way that finds wrong clauses: each task more than once, with poison in
// what it may not read, all named memory compared before and after, and the
// results of all replicas compared with each other. A finding names the
// kernel, the argument, the element and the clause to change. It sees only
// memory that a clause names, or that [Watch] does.
//
// # Direct stores
//
// The replicas of a rank that are on one host share the memory of the arrays that
// [Alloc] makes. Where it takes less time than sending them, they store the results
// of tasks that write nothing else but partial results directly into each other's
// arrays (see intrarun -direct). A replica stores only into the arrays of replicas
// that have reached the section, and only results that are complete in its own
// arrays. So whichever replica dies, and whenever, the others find either what was
// there at the entry of the section or the complete result.
//
// # Threads
//
// With intrarun -threads T each replica runs up to T tasks of a section side
// by side, a rank with one replica too: at the end of the section instead of
// at the launch. Results are the same for every T. Tasks that use the same
// scratch space run one after the other, and so do all in checked mode.
//
// A Process and its sections are used by one goroutine at a time. The body of a
// task may start goroutines of its own with Go of a [sync.WaitGroup] or an
// errgroup.Group, if it calls Wait before it returns and the result does not
// depend on their order; intragen and intravet refuse go statements, and
// goroutines that may outlive their task. A panic in one of
// them ends the process, and nothing says in which task it was.
package intra
