package job

import (
	"context"
	"time"
)

// Local holds the options and results of a test's job that runs in one process, in addition
// to its Spec. The context carries it, since programs do not need it.
type Local struct {
	Sched    string // overrides the schedule of every section
	Kills    []Kill
	Flips    []Flip
	Verify   *Verification
	Diverge  Diverge // "": strict
	Capacity int     // bytes under way in each direction of an in-memory link; 0 means the default
	Receive  Receive
	Lag      time.Duration // see Setup.Lag; it also sets Setup.Stale
	Share    bool          // every section is shared: the schedule never decides to replicate
	Threads  int           // workers of each replica; 0 means 1
	Replace  bool          // dead processes are replaced
	Backup   uint64        // number of safe points from one backup to the next; 0: no backups
	Files    string        // folder for checkpoint files, "" for none
	Every    uint64        // number of safe points from one set of files to the next
	Restart  string        // folder with the state to begin with, "" for the start of the program

	// The results. Run sets them before it returns.
	Fired     []bool // for each of Kills, whether it has happened
	Verdicts  []Verdict
	Stats     map[Process]Stats // of the last process in each slot
	Former    []Stats           // of the dead processes that were replaced
	Joined    []Process         // slots of the replacements, in order
	Rollbacks int
	Sets      []uint64 // sets of files that were completed
	Warnings  []string // warnings about sets of files
}

// Receive selects the memory into which an update is received if it does not lie whole in
// the memory of a link.
type Receive int

const (
	// ReceiveStaged receives into a buffer, and applies the update when it is whole.
	ReceiveStaged Receive = iota
	// ReceiveInPlace receives into the task's memory, after a snapshot of inout.
	ReceiveInPlace
	// ReceiveTorn is ReceiveInPlace without the snapshot. It is wrong. Tests use it to show
	// that the snapshot is needed.
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
