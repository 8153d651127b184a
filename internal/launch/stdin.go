package launch

import (
	"io"
	"slices"
)

// maxStdin is how many chunks of standard input one replica of rank 0 may lag
// behind another.
const maxStdin = 64

// stdin copies one input to several processes.
type stdin struct {
	sinks []chan []byte
}

// add gives the input to feed as well, nothing at its end. It is called before
// run.
func (s *stdin) add(feed func([]byte)) {
	sink := make(chan []byte, maxStdin)
	s.sinks = append(s.sinks, sink)
	go func() {
		for b := range sink {
			feed(b)
		}
		feed(nil)
	}()
}

// run copies until the input ends.
func (s *stdin) run(r io.Reader) {
	for {
		buf := make([]byte, 32<<10)
		n, err := r.Read(buf)
		for _, sink := range s.sinks {
			if n > 0 {
				sink <- slices.Clip(buf[:n])
			}
			if err != nil {
				close(sink)
			}
		}
		if err != nil {
			return
		}
	}
}
