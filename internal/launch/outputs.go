package launch

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// drainTime bounds how long the pipes of a dead process are read: something
// that it started may hold them open.
const drainTime = time.Second

// outputs are what one process writes.
type outputs struct {
	process job.Process
	streams [2]*forwarder
	crash   crash
	open    sync.WaitGroup // of streams
}

func newOutputs(p job.Process, streams [2]*forwarder) *outputs {
	o := &outputs{process: p, streams: streams}
	o.crash.ended = make(chan struct{})
	o.open.Add(len(streams))
	return o
}

// write takes in bytes of a stream, or its end. It blocks until there is room.
func (o *outputs) write(s stream, b []byte) {
	switch {
	case s == crashes:
		if o.crash.add(b) {
			o.streams[stderr].freeze(o.process.Replica)
		}
	case len(b) == 0:
		o.open.Done()
	default:
		o.streams[s].write(o.process.Replica, b)
	}
}

// finish settles the output of a process that is gone. It returns what the
// process said of its own death. It blocks until the rest has been read.
func (o *outputs) finish(died, itself bool) (words []byte) {
	for _, f := range o.streams {
		f.release(o.process.Replica)
	}
	<-o.crash.ended
	o.open.Wait()
	if !died {
		o.streams[stdout].finished(o.process.Replica)
		o.streams[stderr].finished(o.process.Replica)
		return nil
	}
	o.streams[stdout].died(o.process.Replica, nil, itself)
	return o.streams[stderr].died(o.process.Replica, o.crash.bytes(), itself)
}

// prefix puts the name of the process in front of each line.
func prefix(p job.Process, text []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(bytes.TrimRight(text, "\n")) {
		fmt.Fprintf(&b, "%v: %s", p, line)
	}
	return b.Bytes()
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
