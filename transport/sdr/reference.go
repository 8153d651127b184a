package sdr

// Reference is a second implementation of causal history for tests. It follows the
// operations and the messages of a process independently, and compares its results with
// those of the core. A number, which travels with the message, identifies what the message
// depends on; 0 means nothing.
type Reference interface {
	// Operate counts an operation in a clock domain.
	Operate(thread uint64)
	// Past returns the number for all that the process depends on.
	Past() uint64
	// Merge returns the number for what either of two messages depends on.
	Merge(a, b uint64) uint64
	// Absorb makes the process depend on what a message depends on.
	Absorb(past uint64)
	// Close ends a clock domain, and Reset restarts counting.
	Close(thread uint64)
	Reset()
	// Ripe checks whether the process has begun all operations on which a message depends.
	Ripe(past uint64, ripe bool)
	// Earlier checks whether, in one domain, a message depends only on operations of the
	// process before its last one.
	Earlier(past, thread uint64, earlier bool)
	// Sent records the number of bytes that encode what a message depends on.
	Sent(past uint64, bytes int)
}

// Recorder is for tests: it sees the decisions of a process. A process alone can carry out the
// decisions of another run again.
type Recorder interface {
	// Number is called when the program reaches the place of a decision. It returns the decision to
	// carry out there, nil if the process decides.
	Number(context, kind, number uint64) []byte
	// Decided is called when the process carries out a decision.
	Decided(context, kind, number uint64, value []byte)
	// Replays reports whether the process carries out recorded decisions and makes none.
	Replays() bool
}
