package sdr

// Reference follows the operations and the messages of a process in its own way,
// and is told what the causal past says: it is for tests, which compare the two. It
// names what a message depends on by a number, which goes with the message; 0 is
// nothing.
type Reference interface {
	// Operate counts an operation of a thread.
	Operate(thread uint64)
	// Past names all that the process depends on.
	Past() uint64
	// Merge names what either of two messages depends on.
	Merge(a, b uint64) uint64
	// Absorb makes the process depend on what a message depends on.
	Absorb(past uint64)
	// Close ends a thread, and Reset begins counting anew.
	Close(thread uint64)
	Reset()
	// Ripe is told whether the process has begun all that a message depends on.
	Ripe(past uint64, ripe bool)
	// Earlier is told whether a message depends on no operation of the process in a
	// thread but those before its last one.
	Earlier(past, thread uint64, earlier bool)
	// Sent is told how many bytes a message has for what it depends on.
	Sent(past uint64, bytes int)
}
