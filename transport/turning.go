package transport

// Turning is a Link that does better if it knows that processes take turns on cores.
type Turning interface {
	// TakeTurns says so, once.
	TakeTurns()
}
