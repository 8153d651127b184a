package transport

// Turning is a Link that adapts to processes that take turns on cores.
type Turning interface {
	// TakeTurns reports, once, that processes take turns.
	TakeTurns()
}
