package job

import "context"

// Local holds the options and the results of a test's job that runs in one process, beside
// its Spec. The context carries it, since programs do not need it.
type Local struct {
	Sched    string // overrides the schedule of every section
	Kills    []Kill
	Flips    []Flip
	Verify   *Verification
	Diverge  Diverge // "": strict
	Capacity int     // bytes in flight in each direction of an in-memory link; 0 means the default
	Receive  Receive
	Share    bool   // share every section: the schedule never decides to replicate
	Threads  int    // workers of each replica; 0 means 1
	Replace  bool   // dead processes are replaced
	Backup   uint64 // safe points from one backup to the next; 0: none
	Files    string // folder for checkpoint files, "" for none
	Every    uint64 // safe points from one set of files to the next
	Restart  string // folder with the state to begin with, "" for none

	// The results. They are set before Run returns.
	Fired     []bool // for each of Kills
	Verdicts  []Verdict
	Stats     map[Process]Stats // of the last process in each slot
	Former    []Stats           // of the dead processes that were replaced
	Joined    []Process         // the slots of the replacements, in order
	Rollbacks int
	Sets      []uint64 // the sets of files that were completed
	Warnings  []string // warnings about sets of files
}

// Receive selects the memory into which an update is received that does not lie whole
// in the memory of a link.
type Receive int

const (
	// ReceiveStaged: into a buffer, applied when whole.
	ReceiveStaged Receive = iota
	// ReceiveInPlace: into the task's memory, with a snapshot of inout.
	ReceiveInPlace
	// ReceiveTorn is ReceiveInPlace without the snapshot. It is wrong, and tests show that.
	ReceiveTorn
)

type localKey struct{}

// WithLocal returns a context that carries l.
func WithLocal(ctx context.Context, l *Local) context.Context {
	return context.WithValue(ctx, localKey{}, l)
}

// LocalFrom returns the Local that ctx carries, or a zero Local.
func LocalFrom(ctx context.Context) *Local {
	if l, ok := ctx.Value(localKey{}).(*Local); ok {
		return l
	}
	return new(Local)
}
