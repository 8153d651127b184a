package job

// Cause is the reason why a process was declared dead. The report contains the values.
type Cause string

// The causes of a verdict.
const (
	CauseInjected Cause = "injected" // killed by -kill or -fault weibull
	CauseSignal   Cause = "signal"   // killed by another signal
	CauseExit     Cause = "exit"     // ended by itself without finishing
	CausePanic    Cause = "panic"    // panicked
	CauseFenced   Cause = "fenced"   // stopped or cut off, then killed by the head
	CauseHost     Cause = "host"     // its host was lost
	CauseLink     Cause = "link"     // a link of it broke and was not restored
	CauseRelieved Cause = "moved"    // another process has taken over the slot at a cut; this is no failure
	CauseDropped  Cause = "dropped"  // its rank has fewer replicas from a cut on; this is no failure
)

// Verdict declares one process dead. The head numbers its verdicts by epoch, from 1. Every
// survivor gets the same list in the same order.
type Verdict struct {
	Epoch   uint64
	Process Process
	// Incarnation is the incarnation of the dead process, where 0 means 1. So the verdict
	// does not affect its replacement.
	Incarnation uint32
	Cause       Cause
	Detail      string
	// Through: the program of the rank had returned, and all its messages had been
	// received. So the job does not need the rank, even if this was its last replica.
	Through bool `json:",omitempty"`
}
