package output

// Stream is a stream that a process writes.
type Stream int

// The streams.
const (
	Stdout  Stream = iota
	Stderr         // includes what a Go program writes when it crashes
	Crashes        // a copy of the crash text
	Streams        // number of streams
)

// String returns the name of the stream.
func (s Stream) String() string {
	return [...]string{"standard output", "standard error", "text of crashes"}[s]
}
