package launch

import (
	"io"
	"os"
)

// maxStdin is how many chunks of standard input one replica of rank 0 may lag
// behind another.
const maxStdin = 64

// stdin copies one input to several processes.
type stdin struct {
	sinks []chan []byte
}

// add gives the input to w as well, which it closes at the end. It is called
// before run.
func (s *stdin) add(w *os.File) {
	sink := make(chan []byte, maxStdin)
	s.sinks = append(s.sinks, sink)
	go func() {
		var failed error
		for b := range sink {
			if failed == nil { // a process that does not read any more must not stop the others
				_, failed = w.Write(b)
			}
		}
		w.Close()
	}()
}

// run copies until the input ends.
func (s *stdin) run(r io.Reader) {
	for {
		buf := make([]byte, 32<<10)
		n, err := r.Read(buf)
		for _, sink := range s.sinks {
			if n > 0 {
				sink <- buf[:n]
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
