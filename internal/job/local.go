package job

import "context"

// Local is what a test wants of a job that runs in one process, beside its
// Spec. It travels in the context, since programs have no use for it.
type Local struct {
	Sched    string // overrides the schedule of every section
	Kills    []Kill
	Capacity int // bytes under way in each direction of an in-memory link; 0 means its default
	Receive  int // how updates are received, a number of package runtime

	// What happened, filled in before Run returns.
	Fired    []bool // for each of Kills
	Verdicts []Verdict
	Stats    map[Process]Stats
}

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
