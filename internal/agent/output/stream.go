package output

// Stream is one of the streams that a process writes.
type Stream int

// The streams.
const (
	Stdout  Stream = iota
	Stderr         // includes the text of a crash
	Crashes        // a copy of the text of a crash, which the Go runtime writes
	Streams        // number of streams
)

// String returns the name of the stream.
func (s Stream) String() string {
	return [...]string{"standard output", "standard error", "text of crashes"}[s]
}
