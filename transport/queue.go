package transport

// Queuer is a Link that can hand over several frames at the cost of one. Not
// every link gains by that.
type Queuer interface {
	// Queue is like Send, but f may stay queued until the next Send or Progress, which the
	// caller must call soon.
	Queue(f *Frame)
}
