package transport

// Queuer is a Link that hands over several frames for the price of one. Not
// every link has something to gain by that.
type Queuer interface {
	// Queue is Send, but f may stay here until Send or Progress is called next,
	// which its caller sees to soon.
	Queue(f *Frame)
}
