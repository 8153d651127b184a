package output

import "io"

// Sink passes on what a command writes. The command asks it once, at its end, whether all
// of that was written.
type Sink struct {
	w   io.Writer
	err error
}

// NewSink returns a sink that writes to w.
func NewSink(w io.Writer) *Sink { return &Sink{w: w} }

// Write writes nothing after the first write that has failed.
func (s *Sink) Write(b []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(b)
	s.err = err
	return n, err
}

// Lost returns the error of the first write that has failed, nil if none has or the reader
// has left.
func (s *Sink) Lost() error {
	if s.err == nil || readerLeft(s.w, s.err) {
		return nil
	}
	return s.err
}
