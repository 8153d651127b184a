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

// outputs are the pipes from one process.
type outputs struct {
	process job.Process
	streams [2]*forwarder
	crash   crash
	pipes   [3]*os.File // read ends
	read    chan struct{}
}

// openOutputs starts to read; the files returned are for the process:
// standard output, standard error, crash.
func openOutputs(p job.Process, streams [2]*forwarder) (*outputs, [3]*os.File, error) {
	o := &outputs{process: p, streams: streams, read: make(chan struct{})}
	o.crash.ended = make(chan struct{})
	var w [3]*os.File
	for i := range w {
		var err error
		if o.pipes[i], w[i], err = os.Pipe(); err != nil {
			closeFiles(o.pipes[:i])
			closeFiles(w[:i])
			return nil, w, fmt.Errorf("create a pipe: %w", err)
		}
	}
	var pumps sync.WaitGroup
	pumps.Go(func() { streams[stdout].pump(p.Replica, o.pipes[0]) })
	pumps.Go(func() { streams[stderr].pump(p.Replica, o.pipes[1]) })
	go o.crash.collect(o.pipes[2], func() { streams[stderr].freeze(p.Replica) })
	go func() {
		pumps.Wait()
		close(o.read)
	}()
	return o, w, nil
}

// finish settles the output of a process that is gone. It returns what the
// process said of its own death. It blocks until the rest has been read.
func (o *outputs) finish(died, itself bool) (words []byte) {
	o.pipes[2].SetReadDeadline(time.Now().Add(drainTime))
	<-o.crash.ended
	for i, f := range o.streams {
		f.release(o.process.Replica, o.pipes[i])
	}
	<-o.read
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
