package job

import "context"

// Local is what a test wants of a job that runs in one process, beside its
// Spec. It travels in the context, since programs have no use for it.
type Local struct {
	Sched    string // overrides the schedule of every section
	Kills    []Kill
	Flips    []Flip
	Verify   *Verification
	Diverge  Diverge // "": strict
	Capacity int     // bytes under way in each direction of an in-memory link; 0 means its default
	Receive  Receive
	Share    bool   // never decide to replicate
	Threads  int    // workers of each replica; 0 means 1
	Replace  bool   // processes that died are replaced
	Backup   uint64 // a backup every so many safe points; 0: none
	Files    string // where checkpoint files are written, "" for nowhere
	Every    uint64 // safe points from one set of files to the next
	Restart  string // where the state to begin with is, "" for nowhere

	// What happened, filled in before Run returns.
	Fired     []bool // for each of Kills
	Verdicts  []Verdict
	Stats     map[Process]Stats // of the last process in each place
	Former    []Stats           // of those that died and were replaced
	Joined    []Process         // that took the place of a dead one, in order
	Rollbacks int
	Sets      []uint64 // that were completed
	Warnings  []string // about sets of files
}

// Receive says where updates are received that do not lie whole in the memory
// of a link.
type Receive int

const (
	// ReceiveStaged: into a buffer, applied when whole.
	ReceiveStaged Receive = iota
	// ReceiveInPlace: into the task's memory, with a snapshot of inout.
	ReceiveInPlace
	// ReceiveTorn is ReceiveInPlace without the snapshot. It is wrong, and
	// tests show that it is.
	ReceiveTorn
)

type localKey struct{}

// WithLocal returns a context that carries l.
func WithLocal(ctx context.Context, l *Local) context.Context {
	return context.WithValue(ctx, localKey{}, l)
}

// LocalFrom returns what WithLocal put in, or a zero Local.
func LocalFrom(ctx context.Context) *Local {
	if l, ok := ctx.Value(localKey{}).(*Local); ok {
		return l
	}
	return new(Local)
}
