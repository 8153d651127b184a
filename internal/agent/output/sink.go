package output

import "io"

// Sink passes on the output of a command. At its end, the command asks it whether all output
// was written.
type Sink struct {
	w   io.Writer
	err error
}

// NewSink returns a sink that writes to w.
func NewSink(w io.Writer) *Sink { return &Sink{w: w} }

// Write discards b after the first failed write.
func (s *Sink) Write(b []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(b)
	s.err = err
	return n, err
}

// Lost returns the error of the first failed write. It returns nil if none failed or the
// reader has left.
func (s *Sink) Lost() error {
	if s.err == nil || readerLeft(s.w, s.err) {
		return nil
	}
	return s.err
}
