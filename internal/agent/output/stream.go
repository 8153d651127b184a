package output

// Stream numbers what a process writes.
type Stream int

// The streams.
const (
	Stdout  Stream = iota
	Stderr         // what a Go program says when it crashes too,
	Crashes        // of which this is a copy
	Streams        // how many there are
)

// String names the stream for people.
func (s Stream) String() string {
	return [...]string{"standard output", "standard error", "text of crashes"}[s]
}
