package sdr

// Reference is a second implementation of causal history for tests. It follows the
// operations and the messages of a process independently, and compares its results with
// those of the core. It identifies a causal history by a number, which travels with the
// message; 0 is the empty history.
type Reference interface {
	// Operate counts an operation in a clock domain.
	Operate(domain uint64)
	// Past returns the number of the causal history of the process.
	Past() uint64
	// Merge returns the number of the union of two histories.
	Merge(a, b uint64) uint64
	// Absorb adds the history of a message to that of the process.
	Absorb(past uint64)
	// Close ends a clock domain, and Reset restarts counting.
	Close(domain uint64)
	Reset()
	// Deliverable compares whether the process has begun all operations on which a message
	// depends.
	Deliverable(past uint64, deliverable bool)
	// Earlier compares whether a message depends only on operations in the domain before
	// the last one of the process.
	Earlier(past, domain uint64, earlier bool)
	// Sent records the number of bytes that encode a history.
	Sent(past uint64, bytes int)
}

// Recorder is for tests. It records the decisions of a process, or makes a process that
// runs alone carry out the decisions of another run again.
type Recorder interface {
	// Number is called when the program reaches the place of a decision. It returns the
	// decision to carry out there, or nil if the process has to decide.
	Number(context, kind, number uint64) []byte
	// Decided is called when the process carries out a decision.
	Decided(context, kind, number uint64, value []byte)
	// Replays reports whether the process carries out recorded decisions and makes none.
	Replays() bool
}
