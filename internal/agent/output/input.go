package output

import (
	"io"
	"slices"
)

// maxLag is how many chunks of standard input one replica of rank 0 may lag
// behind another.
const maxLag = 64

// Input copies one input to several processes.
type Input struct {
	sinks []chan []byte
}

// Add adds a receiver of the input: feed gets every chunk, and nil at the end. It
// must be called before Run.
func (i *Input) Add(feed func([]byte)) {
	sink := make(chan []byte, maxLag)
	i.sinks = append(i.sinks, sink)
	go func() {
		for b := range sink {
			feed(b)
		}
		feed(nil)
	}()
}

// Run copies r to all receivers until it ends.
func (i *Input) Run(r io.Reader) {
	for {
		buf := make([]byte, 32<<10)
		n, err := r.Read(buf)
		for _, sink := range i.sinks {
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
