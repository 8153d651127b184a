package output

// Stream is one of the streams that a process writes.
type Stream int

// The streams.
const (
	Stdout  Stream = iota
	Stderr         // includes the text of a crash of the Go runtime
	Crashes        // a copy of that text
	Streams        // number of streams
)

// String returns the name of the stream.
func (s Stream) String() string {
	return [...]string{"standard output", "standard error", "text of crashes"}[s]
}
